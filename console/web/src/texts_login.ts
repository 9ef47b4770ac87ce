// Texts of the login.
export const loginEn = {
  login: "Log in",
  logout: "Log out",
  loginTitle: "Log in to Tidemark",
  loginToken: "Token",
  loginHelp: "A token of the API server, for example of `kubectl create token NAME -n NAMESPACE`. The console sends it to the API server only, and your orders carry it.",
  loginFailed: "Login refused: {why}",
  loginIssuer: "Log in by {issuer}",
  loginOr: "Or by a token:",
  loginRefused_state: "This login began in another browser, or more than ten minutes ago. Begin again.",
  loginRefused_issuer: "The issuer refused the login or did not answer. The log of the console says more.",
  loginRefused_token: "The token of the issuer is not good. The log of the console says more.",
  loginRefused_account: "The API server does not accept this account, or the account may not list nodes and pods. The log of the console says more.",
  loginRefused_often: "Too many logins within a minute. Wait a minute.",
  sessionOver: "The session is over. Log in again.",
};

export const loginZh: Record<keyof typeof loginEn, string> = {
  login: "登录",
  logout: "退出",
  loginTitle: "登录 Tidemark",
  loginToken: "令牌",
  loginHelp: "API server 的令牌，例如 `kubectl create token NAME -n NAMESPACE` 的输出。控制台只把它发送给 API server，您的指令以它的身份执行。",
  loginFailed: "登录被拒绝：{why}",
  loginIssuer: "通过 {issuer} 登录",
  loginOr: "或使用令牌：",
  loginRefused_state: "此登录是在其他浏览器中开始的，或已超过十分钟。请重新登录。",
  loginRefused_issuer: "身份提供方拒绝了登录或没有应答。详情见控制台日志。",
  loginRefused_token: "身份提供方的令牌无效。详情见控制台日志。",
  loginRefused_account: "API server 不接受该账号，或该账号无权列出节点和 Pod。详情见控制台日志。",
  loginRefused_often: "一分钟内登录次数过多，请等待一分钟。",
  sessionOver: "会话已结束，请重新登录。",
};
