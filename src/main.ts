import { randomBytes } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { enableCompileCache } from 'node:module'
import { AccountsError } from './accounts/accounts.ts'
import { createAuditLog } from './accounts/audit-log.ts'
import { createPasswords } from './accounts/password.ts'
import { createPasswordResets } from './accounts/password-reset.ts'
import { PlanFileError } from './accounts/plan-file.ts'
import { CertificateError } from './api/http/certificate.ts'
import { DataFolderError, serviceAddress, storeAddress } from './app/data-folder.ts'
import { runningEnvironments } from './app/environments.ts'
import type { OpenMarketAccess } from './app/market-access.ts'
import { openAccounts } from './app/open-accounts.ts'
import type { Service } from './app.ts'
import { ACCOUNT_COMMANDS } from './cli/accounts-commands.ts'
import { BACKUP_COMMANDS } from './cli/backup-commands.ts'
import {
  type CliCommand,
  CommandError,
  type CommandForm,
  HelpWanted,
  UsageError,
  type UsersAccess,
} from './cli/command.ts'
import { dataForms, usualSpelling } from './cli/customer/data-forms.ts'
import { CONNECTION_OPTIONS, CUSTOMER_COMMANDS, DATA_COMMANDS } from './cli/customer/forms.ts'
import { readOperations } from './cli/customer/read-operations.ts'
import { findConnection, loginFile } from './cli/customer/service-login.ts'
import { DOCTOR_COMMAND, runDoctor } from './cli/doctor/doctor-command.ts'
import { checkHealth, HEALTH_COMMAND } from './cli/health.ts'
import { KEY_COMMANDS } from './cli/keys-commands.ts'
import { MARKET_COMMANDS } from './cli/market-commands.ts'
import { createOutput, type Output } from './cli/output.ts'
import { helpOfAll, parseCommand } from './cli/run-command.ts'
import { SANDBOX_COMMANDS } from './cli/sandbox-commands.ts'
import { STORE_COMMANDS } from './cli/store-commands.ts'
import { systemErrorSentence } from './cli/system-errors.ts'
import { USAGE_COMMAND } from './cli/usage-command.ts'
import { USER_COMMANDS } from './cli/users-commands.ts'
import {
  type Config,
  ConfigError,
  clientSettings,
  type LoadedConfig,
  loadConfig,
  storePasswordOfEnvironment,
} from './config/config.ts'
import { StoreUnavailableError } from './core/store-unavailable.ts'
import { systemClock } from './kit/clock.ts'
import { exitProcess } from './kit/exit-process.ts'
import { createLogger } from './kit/log.ts'
import type { LogFormat } from './kit/log-text.ts'
import { releaseMemory } from './kit/release-memory.ts'
import { dropUnread } from './kit/unread-output.ts'
import { ConflictError } from './store/accounts.ts'
import { StoreOpenError } from './store/open-error.ts'
import { assertNoOlderService } from './store/open-stores.ts'

/**
 * The command line. Commands on accounts work while the service runs on the same data folder. Modules that only some
 * commands need are loaded on demand.
 */
enableCompileCache()
/** Files are readable only by the user who runs the service. */
process.umask(0o077)

const VERSION = String(
  (JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8')) as { version: unknown })
    .version,
)

const serve: CommandForm = { name: 'serve', about: 'Runs the service.', options: {} }
const config: CommandForm = {
  name: 'config',
  about: 'Prints the effective settings; secrets as ***.',
  options: {},
}
const openapi: CommandForm = {
  name: 'openapi',
  about: 'Prints the OpenAPI document.',
  options: {},
}
const mcp: CommandForm = {
  name: 'mcp',
  about: 'Serves MCP on standard input and output, for programs of language models.',
  options: CONNECTION_OPTIONS,
  isForCustomers: true,
}
/** Commands that open the accounts of the configured store. */
const ON_ACCOUNTS: readonly CliCommand[] = [
  ...ACCOUNT_COMMANDS,
  ...KEY_COMMANDS,
  ...USER_COMMANDS,
  USAGE_COMMAND,
  ...MARKET_COMMANDS,
]
const COMMANDS: readonly CommandForm[] = [
  serve,
  config,
  ...ON_ACCOUNTS,
  ...SANDBOX_COMMANDS,
  ...STORE_COMMANDS,
  ...BACKUP_COMMANDS,
  DOCTOR_COMMAND,
  HEALTH_COMMAND,
  openapi,
  ...CUSTOMER_COMMANDS,
  mcp,
]

/** The name of the actor in the audit log. */
const ACTOR = 'command line'

const out = (text: string) => void process.stdout.write(text)
const complain = (text: string) => void process.stderr.write(`${text}\n`)

async function main(argv: readonly string[]): Promise<number> {
  if (argv.length === 0) {
    out(`${helpOfAll(COMMANDS)}\n`)
    return 0
  }
  if (argv.length === 1 && ['--version', '-v', 'version'].includes(argv[0] ?? '')) {
    out(`${VERSION}\n`)
    return 0
  }
  const { commands, data, words } = await spelledOut(argv)
  const parsed = parseCommand(commands, words)
  const { command, values, json } = parsed
  if (command === mcp) return serveMcp(values)
  if (CUSTOMER_COMMANDS.includes(command) || data.some((form) => form === command)) {
    const { runCustomer } = await import('./cli/customer/run-customer.ts')
    return runCustomer(parsed, data, clientSettings())
  }
  const loaded = loadConfig()
  const output = createOutput({ json, write: out })
  if (command === serve) return runService(loaded, output)
  process.stdout.on('error', ignoreGoneReader)
  if (command === config) await printConfig(loaded, output)
  else if (command === openapi) out(`${JSON.stringify(await openapiOf(), null, 2)}\n`)
  else if (command === HEALTH_COMMAND)
    output.line(await checkHealth(serviceAddress(loaded.config), values.ready === 'on'))
  else if (command === DOCTOR_COMMAND) await examineMachine(loaded, output, json)
  else await runOnStore(command, loaded, values, output)
  return 0
}

/** Whoever reads the output may end early (`| head`); the command still does all of its work. */
function ignoreGoneReader(error: NodeJS.ErrnoException): void {
  if (error.code !== 'EPIPE') throw error
}

/** `get` and `cost` have a command for every endpoint; the endpoints are loaded only for these two. */
async function spelledOut(argv: readonly string[]) {
  const first = argv.find((word) => !word.startsWith('-') && word !== 'help')
  if (!DATA_COMMANDS.some(({ name }) => name === first)) return { commands: COMMANDS, data: [], words: argv }
  const operations = readOperations(await openapiOf())
  const data = dataForms(operations)
  const others = COMMANDS.filter((command) => !DATA_COMMANDS.includes(command))
  return { commands: [...others, ...data], data, words: usualSpelling(argv, operations) }
}

/** A customer command, which needs neither settings nor data of the service. Ends when its input ends. */
async function serveMcp(values: Record<string, string | undefined>): Promise<number> {
  const settings = clientSettings()
  const { url, key } = findConnection(values, settings, loginFile(settings.configFolder))
  const [{ ENDPOINTS }, { serveMcpOverStdio }] = await Promise.all([
    import('./api/endpoints/list.ts'),
    import('./api/mcp/serve-stdio.ts'),
  ])
  await serveMcpOverStdio({ version: VERSION, endpoints: ENDPOINTS }, { url, key, complain })
  return 0
}

async function printConfig(loaded: LoadedConfig, output: Output): Promise<void> {
  const { describeWithVenues } = await import('./app/live-setting.ts')
  output.print(describeWithVenues(loaded), ['setting', 'value', 'from', 'about'])
}

async function examineMachine(loaded: LoadedConfig, output: Output, json: boolean): Promise<void> {
  const { examinedMachine } = await import('./app/machine.ts')
  const machine = examinedMachine(loaded, { clock: systemClock, storePassword: storePasswordOfEnvironment() })
  await runDoctor(machine, output, json)
}

async function openapiOf(): Promise<object> {
  const [{ ENDPOINTS }, { committedOpenapi }] = await Promise.all([
    import('./api/endpoints/list.ts'),
    import('./api/publish/openapi.ts'),
  ])
  return committedOpenapi(ENDPOINTS)
}

async function runOnStore(
  form: CommandForm,
  loaded: LoadedConfig,
  values: Record<string, string | undefined>,
  output: Output,
): Promise<void> {
  const onAccounts = ON_ACCOUNTS.find((command) => command === form)
  if (onAccounts !== undefined) return runOnAccounts(onAccounts, loaded, values, output)
  const onSandbox = SANDBOX_COMMANDS.find((command) => command === form)
  if (onSandbox !== undefined) {
    const { sandboxAccess } = await import('./app/sandbox-access.ts')
    return onSandbox.run({ values, output, sandbox: await sandboxAccess(loaded.config.data) })
  }
  const onBackups = BACKUP_COMMANDS.find((command) => command === form)
  if (onBackups !== undefined) {
    const { backupAccess } = await import('./app/backup-access.ts')
    const backups = backupAccess(loaded.config, { clock: systemClock, version: VERSION })
    return onBackups.run({ values, output, backups })
  }
  const { storeAccess } = await import('./app/store-access.ts')
  const command = STORE_COMMANDS.find((each) => each === form)
  await command?.run({ values, output, stores: storeAccess(loaded.config, systemClock) })
}

async function runOnAccounts(
  command: CliCommand,
  { config }: LoadedConfig,
  values: Record<string, string | undefined>,
  output: Output,
): Promise<void> {
  await assertNoOlderService(storeAddress(config))
  const { store, accounts } = openAccounts(config, systemClock)
  const audit = createAuditLog({ store, clock: systemClock })
  const log = createLogger({
    level: config.logLevel,
    format: logFormatOf(config, process.stderr),
    write: (line) => void process.stderr.write(line),
  })
  let market: OpenMarketAccess | undefined
  const passwords = createPasswords()
  const resets = createPasswordResets({ store, passwords, clock: systemClock, randomBytes })
  const users: UsersAccess = {
    list: () => store.listUsers(),
    async issueReset(email) {
      const issued = await resets.issue(email)
      const { accountId, email: detail } = issued.user
      await audit.note({ actor: ACTOR, action: 'user.reset_link', accountId, detail })
      return issued
    },
  }
  const openMarket = async () => {
    const { marketAccess } = await import('./app/market-access.ts')
    market ??= marketAccess(config, { clock: systemClock, log })
    return market
  }
  try {
    await command.run({
      values,
      output,
      accounts: accounts.as(ACTOR),
      clock: systemClock,
      market: openMarket,
      users,
      serviceUrl: () => callersUrl(config) ?? serviceAddress(config),
      usualEnvironment: runningEnvironments(config)[0] ?? 'test',
    })
  } finally {
    await market?.close()
    await store.close()
  }
}

/** Readable lines on a terminal. Threads cannot detect a terminal, so the format is decided here. */
function logFormatOf({ logFormat }: Pick<Config, 'logFormat'>, stream: NodeJS.WriteStream): LogFormat {
  if (logFormat !== 'auto' && logFormat !== 'pretty') return logFormat
  if (!stream.isTTY) return logFormat === 'pretty' ? 'text' : 'json'
  return stream.hasColors() ? 'color' : 'text'
}

async function runService({ config: given, warnings }: LoadedConfig, output: Output): Promise<number> {
  dropUnread(process.stdout, (reason) =>
    complain(`The log cannot be written (${reason}): lines are dropped, and the service goes on.`),
  )
  dropUnread(process.stderr, () => {})
  const config = { ...given, logFormat: logFormatOf(given, process.stdout) }
  const log = createLogger({ level: config.logLevel, format: config.logFormat })
  for (const warning of warnings) log.warn(warning)
  const { startService } = await import('./app.ts')
  const { restartOnClockJump: keepRunning } = await import('./kit/restart-on-clock-jump.ts')
  const start = (port: number) =>
    startService({ ...config, port }, { clock: systemClock, log, version: VERSION })
  const first = await start(config.port)
  releaseMemory()
  const startAgain = async (port: number) => {
    const service = await start(port)
    tellOperatorLink(service, config, output)
    return service
  }
  const running = keepRunning({ first, startAgain, clock: systemClock, log })
  return new Promise((resolve) => {
    const stop = async (signal: string, failure = 0) => {
      log.info({ signal }, 'stopping')
      const report = await running.stop()
      for (const failure of report.failures) log.error(failure, 'a part did not stop cleanly')
      const code = report.clean ? failure : 1
      resolve(code)
      // A part that hangs must not keep the process alive.
      setTimeout(() => exitProcess(code), EXIT_GRACE_MS).unref()
    }
    void running.failed.then(() => stop('failure', 1))
    process.once('SIGTERM', () => void stop('SIGTERM'))
    process.once('SIGINT', () => void stop('SIGINT'))
    // Comes last, because a supervisor may stop the process as soon as it has printed that it is listening.
    greet(first, config, output)
  })
}

/** Printed at every start while there is no operator. */
function tellOperatorLink(service: Service, config: Config, output: Output): void {
  const { operatorToken } = service
  if (operatorToken === undefined) return
  const link = `${callersUrl(config) ?? service.url}/#/welcome/${operatorToken}`
  output.line(`\nOpen this link once to become the operator: ${link}`)
}

/** Undefined if none is set; callers then use the address that the service listens on. */
function callersUrl({ publicUrl }: Config): string | undefined {
  return publicUrl?.replace(/\/+$/, '')
}

function greet(service: Service, config: Config, output: Output): void {
  const url = callersUrl(config) ?? service.url
  output.line(`Tapeline ${VERSION} listens on ${service.url}`)
  if (config.roles.includes('api')) {
    output.line(`API reference: ${url}/docs`)
    output.line(`Dashboard: ${url}/`)
  }
  if (service.notice !== undefined) output.line(`\n${service.notice}`)
  tellOperatorLink(service, config, output)
  if (service.firstKey !== undefined) {
    output.line(`\nYour test key, shown this once: ${service.firstKey}\n`)
    output.line(`  curl -H 'X-API-Key: ${service.firstKey}' ${url}/v1/limits\n`)
  }
}

const EXIT_GRACE_MS = 300
/** As usual in shells: 1 for a failure, 2 for wrong usage. */
const WRONG_USE = 2
const KNOWN_ERRORS = [
  UsageError,
  CommandError,
  AccountsError,
  ConflictError,
  ConfigError,
  PlanFileError,
  DataFolderError,
  CertificateError,
  StoreOpenError,
  StoreUnavailableError,
]

try {
  process.exitCode = await main(process.argv.slice(2))
} catch (error) {
  const sentence = systemErrorSentence(error)
  if (error instanceof HelpWanted) out(`${error.message}\n`)
  else if (KNOWN_ERRORS.some((kind) => error instanceof kind)) complain((error as Error).message)
  else if (sentence !== undefined) complain(sentence)
  else complain(error instanceof Error ? (error.stack ?? error.message) : String(error))
  process.exitCode = error instanceof HelpWanted ? 0 : error instanceof UsageError ? WRONG_USE : 1
  setTimeout(() => exitProcess(Number(process.exitCode)), EXIT_GRACE_MS).unref()
}
