// Texts of the login.
export const loginEn = {
  login: "Log in",
  logout: "Log out",
  loginTitle: "Log in to Tidemark",
  loginToken: "Token",
  loginHelp: "A token of the API server, for example of `kubectl create token NAME -n NAMESPACE`. The console sends it to the API server only, and your orders carry it.",
  loginFailed: "Login refused: {why}",
  sessionOver: "The session is over. Log in again.",
};

export const loginZh: Record<keyof typeof loginEn, string> = {
  login: "登录",
  logout: "退出",
  loginTitle: "登录 Tidemark",
  loginToken: "令牌",
  loginHelp: "API server 的令牌，例如 `kubectl create token NAME -n NAMESPACE` 的输出。控制台只把它发送给 API server，您的指令以它的身份执行。",
  loginFailed: "登录被拒绝：{why}",
  sessionOver: "会话已结束，请重新登录。",
};
