// Commands about who one is and who may: login, logout, whoami, context, users, tokens.
import { Option, type Command } from "commander";
import type { LoginFlags } from "../commands/login.ts";
import type { CreateTokenFlags } from "../commands/tokens.ts";
import type { RoleFlags } from "../commands/users.ts";
import type { GlobalFlags, OutputFlags } from "../settings.ts";
import { TOKEN_TTL_S } from "./bounds.ts";
import { collect, examples, integer, outputOption, type End } from "./options.ts";

const ttl = integer(TOKEN_TTL_S.least, TOKEN_TTL_S.most);
const ROLE = "role as ROLE[@CUSTOMER][:JOB_TYPE,…]; may be repeated";

export function declareLogin(program: Command, end: End): void {
  const login = program
    .command("login")
    .description(
      "Asks for a password, or sends one to a browser, and keeps a token for this machine.",
    )
    .option("--name <name>", "log in as this user")
    .option("--setup <code>", "use a one-time code and choose a password")
    .addOption(
      new Option(
        "--sso",
        "log in with a browser, where the plane has an identity provider",
      ).conflicts(["name", "setup"]),
    )
    .option("--ttl <seconds>", "life of the token", ttl, TOKEN_TTL_S.default)
    .action(async () => {
      const commands = await import("../commands/login.ts");
      end(await commands.login(login.optsWithGlobals<LoginFlags>()));
    });
  const logout = program
    .command("logout")
    .description("Revokes the token of this machine and forgets it.")
    .action(async () => {
      const commands = await import("../commands/login.ts");
      end(await commands.logout(logout.optsWithGlobals<GlobalFlags>()));
    });
  const whoami = program
    .command("whoami")
    .description("Shows who the plane takes one for, and with which roles.")
    .addOption(outputOption("text", "json"))
    .action(async () => {
      const commands = await import("../commands/login.ts");
      end(await commands.whoami(whoami.optsWithGlobals<OutputFlags>()));
    });
  const context = program.command("context").description("Shows the planes one is logged in to.");
  const list = context
    .command("list")
    .description("Lists them; the current one has a star.")
    .addOption(outputOption("text", "json"))
    .action(async () => {
      const commands = await import("../commands/login.ts");
      end(await commands.listContexts(list.optsWithGlobals<OutputFlags>()));
    });
  const use = context
    .command("use")
    .description("Makes one the current plane; local is the one of this machine.")
    .argument("<context>", "its name")
    .action(async (name: string) => {
      const commands = await import("../commands/login.ts");
      end(await commands.chooseContext(name));
    });
  examples(login, [
    "aimctl login --url https://plane.example:8443 --name ada",
    "aimctl login --url https://plane.example:8443 --sso",
  ]);
  examples(use, ["aimctl context use plane.example:8443", "aimctl context use local"]);
}

export function declareUsers(program: Command, end: End): void {
  const users = program.command("users").description("Shows, makes and changes users.");
  const list = users
    .command("list")
    .description("Lists the users with their roles.")
    .addOption(outputOption("text", "json"))
    .action(async () => {
      const commands = await import("../commands/users.ts");
      end(await commands.listUsers(list.optsWithGlobals<OutputFlags>()));
    });
  const add = users
    .command("add")
    .description("Makes a user and prints a one-time code with which they choose a password.")
    .argument("<name>", "what they log in as")
    .option("--role <role>", ROLE, collect)
    .action(async (name: string) => {
      const commands = await import("../commands/users.ts");
      end(await commands.addUser(name, add.optsWithGlobals<RoleFlags>()));
    });
  const roles = users
    .command("set-roles")
    .description("Replaces a user's roles and ends their sessions; none for no --role.")
    .argument("<name>", "the user")
    .option("--role <role>", ROLE, collect)
    .action(async (name: string) => {
      const commands = await import("../commands/users.ts");
      end(await commands.setRoles(name, roles.optsWithGlobals<RoleFlags>()));
    });
  const reset = users
    .command("reset-password")
    .description("Ends a user's password and sessions and prints a one-time code.")
    .argument("<name>", "the user")
    .action(async (name: string) => {
      const commands = await import("../commands/users.ts");
      end(await commands.resetPassword(name, reset.optsWithGlobals<GlobalFlags>()));
    });
  declareEnabling(users, end);
  examples(add, [
    "aimctl users add ada --role operator@acme",
    "aimctl users add bob --role auditor",
  ]);
  examples(roles, ["aimctl users set-roles ada --role viewer --role approver@acme"]);
}

function declareEnabling(users: Command, end: End): void {
  for (const [word, enabled, what] of [
    ["disable", false, "Lets a user in no more: sessions and tokens end at once."],
    ["enable", true, "Lets a disabled user in again."],
  ] as const) {
    const command = users
      .command(word)
      .description(what)
      .argument("<name>", "the user")
      .action(async (name: string) => {
        const commands = await import("../commands/users.ts");
        end(await commands.setEnabled(name, enabled, command.optsWithGlobals<GlobalFlags>()));
      });
  }
}

export function declareTokens(program: Command, end: End): void {
  const tokens = program.command("tokens").description("Makes, lists and revokes API tokens.");
  const create = tokens
    .command("create")
    .description("Makes a token for a service and prints it once.")
    .argument("<name>", "what the token is called in lists")
    .option("--service <name>", "the service that has it; no user does")
    .option("--role <role>", ROLE, collect)
    .option("--ttl <seconds>", "life of the token", ttl, TOKEN_TTL_S.default)
    .addOption(outputOption("text", "json"))
    .action(async (name: string) => {
      const commands = await import("../commands/tokens.ts");
      end(await commands.createToken(name, create.optsWithGlobals<CreateTokenFlags>()));
    });
  const list = tokens
    .command("list")
    .description("Lists one's own tokens, for a platform administrator all.")
    .addOption(outputOption("text", "json"))
    .action(async () => {
      const commands = await import("../commands/tokens.ts");
      end(await commands.listTokens(list.optsWithGlobals<OutputFlags>()));
    });
  const revoke = tokens
    .command("revoke")
    .description("Ends a token at once.")
    .argument("<token>", "id of the token")
    .action(async (id: string) => {
      const commands = await import("../commands/tokens.ts");
      end(await commands.revokeToken(id, revoke.optsWithGlobals<GlobalFlags>()));
    });
  examples(create, ["aimctl tokens create nightly --service ci --role operator@acme > token"]);
  examples(revoke, ["aimctl tokens revoke pat_…"]);
}
