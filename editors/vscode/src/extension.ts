/** Starts `tileverify lsp` and speaks with it; all that is shown comes from there. */

import { commands, ExtensionContext, window, workspace } from "vscode";
import { LanguageClient, LanguageClientOptions, ServerOptions } from "vscode-languageclient/node";

let client: LanguageClient | undefined;

export async function activate(context: ExtensionContext): Promise<void> {
  context.subscriptions.push(
    commands.registerCommand("tileverify.restart", restart),
    workspace.onDidChangeConfiguration((change) => {
      if (change.affectsConfiguration("tileverify.command")) {
        void restart();
      }
    }),
  );
  await start();
}

export async function deactivate(): Promise<void> {
  await client?.stop();
  client = undefined;
}

async function restart(): Promise<void> {
  await deactivate();
  await start();
}

async function start(): Promise<void> {
  const [program, ...words] = workspace.getConfiguration("tileverify").get<string[]>("command", ["tileverify", "lsp"]);
  const server: ServerOptions = { command: program, args: words };
  const options: LanguageClientOptions = {
    documentSelector: [
      { scheme: "file", language: "python" },
      { scheme: "file", pattern: "**/*.tileverify.toml" },
      { scheme: "file", pattern: "**/pyproject.toml" },
      { scheme: "file", pattern: "**/*.cu" },
    ],
  };
  client = new LanguageClient("tileverify", "tileverify", server, options);
  try {
    await client.start();
  } catch {
    void window.showErrorMessage(
      `tileverify does not start with '${[program, ...words].join(" ")}': install it with pip install 'tileverify[lsp]', ` +
        "or name another Python in the setting tileverify.command.",
    );
  }
}
