document.body.append("x"); export {};
