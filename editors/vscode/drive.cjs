// Drives `tileverify lsp` with the protocol library that VS Code's client is made of, without VS Code:
//   npm run drive -- SOURCE COMMAND...     (a refuted kernel that has a proved repair; what starts the server)
// Ends with 1 if hover, diagnostics with both places, actions or cancellation are not as they should be.
const assert = require("node:assert");
const { spawn } = require("node:child_process");
const { readFileSync } = require("node:fs");
const { dirname } = require("node:path");
const { pathToFileURL } = require("node:url");
const protocol = require("vscode-languageserver-protocol/node");

async function main([source, program, ...words]) {
  const server = spawn(program, words, { stdio: ["pipe", "pipe", "inherit"] });
  const reader = new protocol.StreamMessageReader(server.stdout);
  const connection = protocol.createProtocolConnection(reader, new protocol.StreamMessageWriter(server.stdin));
  const uri = pathToFileURL(source).href;
  const progress = [];
  const shown = new Promise((resolve) => {
    connection.onNotification(protocol.PublishDiagnosticsNotification.type, (told) => {
      if (told.uri === uri && told.diagnostics.length > 0) resolve(told.diagnostics);
    });
  });
  connection.onRequest(protocol.WorkDoneProgressCreateRequest.type, ({ token }) => {
    connection.onProgress(protocol.WorkDoneProgress.type, token, (value) => progress.push(value.kind));
  });
  connection.onRequest(protocol.InlayHintRefreshRequest.type, () => {});
  connection.listen();

  await connection.sendRequest(protocol.InitializeRequest.type, {
    processId: process.pid,
    rootUri: pathToFileURL(dirname(source)).href,
    capabilities: { window: { workDoneProgress: true }, workspace: { inlayHint: { refreshSupport: true } } },
  });
  await connection.sendNotification(protocol.InitializedNotification.type, {});
  const document = { uri, languageId: "python", version: 1, text: readFileSync(source, "utf8") };
  await connection.sendNotification(protocol.DidOpenTextDocumentNotification.type, { textDocument: document });

  const [first] = await shown;
  assert.match(String(first.code), /^TV\d+$/);
  assert.equal(first.relatedInformation.length, 2);

  // Repairs are being tried, so this question waits, and is taken back.
  const asked = { textDocument: { uri }, range: first.range, context: { diagnostics: [first] } };
  const leaving = new protocol.CancellationTokenSource();
  const left = connection.sendRequest(protocol.CodeActionRequest.type, asked, leaving.token);
  leaving.cancel();
  await assert.rejects(left, { code: protocol.LSPErrorCodes.RequestCancelled });

  const hover = await connection.sendRequest(protocol.HoverRequest.type, {
    textDocument: { uri },
    position: first.range.start,
  });
  assert.ok(hover.contents.value.includes(first.code));
  const actions = await connection.sendRequest(protocol.CodeActionRequest.type, asked);
  assert.ok(actions.some((each) => each.isPreferred && each.edit));
  const hints = await connection.sendRequest(protocol.InlayHintRequest.type, {
    textDocument: { uri },
    range: { start: { line: 0, character: 0 }, end: { line: 1000, character: 0 } },
  });
  assert.match(hints[0].label, /^refuted/);
  assert.ok(progress.includes("begin") && progress.includes("end"));

  await connection.sendRequest(protocol.ShutdownRequest.type);
  await connection.sendNotification(protocol.ExitNotification.type);
  console.log(`${first.code}: ${first.message}; ${hints[0].label}; ${actions.length} actions; a question taken back`);
  server.stdin.end();
}

main(process.argv.slice(2)).then(() => process.exit(0), (error) => { console.error(error); process.exit(1); });
