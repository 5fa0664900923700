/** The customer commands: they talk to a running service and need neither its settings nor its data. */
import type { ParsedCommand } from '../run-command.ts'
import type { DataForm } from './data-forms.ts'
import { explainFailure, ReaderGone } from './explain-failure.ts'
import { LOGIN_COMMAND, LOGOUT_COMMAND, VERIFY_COMMAND } from './forms.ts'
import { runLogin, runLogout } from './login.ts'
import { type CustomerTerminal, runCost, runGet } from './run-data.ts'
import { runStream } from './run-stream.ts'
import { findConnection, loginFile } from './service-login.ts'
import { customerTerminal } from './terminal.ts'
import { runVerify } from './verify-delivery.ts'

interface CustomerSettings {
  readonly url: string | undefined
  readonly key: string | undefined
  readonly webhookSecret: string | undefined
  readonly configFolder: string
}

/** Returns the exit code. */
export async function runCustomer(
  parsed: ParsedCommand,
  data: readonly DataForm[],
  settings: CustomerSettings,
  terminal: CustomerTerminal = customerTerminal(),
): Promise<number> {
  try {
    await run(parsed, data, settings, terminal)
    return 0
  } catch (error) {
    if (error instanceof ReaderGone) return 0
    const operation = data.find((form) => form === parsed.command)?.operation
    const failure = explainFailure(error, operation?.cursorParam)
    if (failure === undefined) throw error
    terminal.say(failure.text)
    return failure.exitCode
  }
}

async function run(
  { command, values, json }: ParsedCommand,
  data: readonly DataForm[],
  settings: CustomerSettings,
  terminal: CustomerTerminal,
): Promise<void> {
  if (command === VERIFY_COMMAND) return runVerify(values, settings.webhookSecret, terminal)
  const file = loginFile(settings.configFolder)
  if (command === LOGIN_COMMAND)
    return runLogin({ url: values.url ?? settings.url, key: values.key ?? settings.key }, file, terminal)
  if (command === LOGOUT_COMMAND) return runLogout(file, terminal)
  const connection = findConnection(values, settings, file)
  const form = data.find((each) => each === command)
  if (form === undefined) return runStream(values, connection, terminal, stopSignal())
  const { operation, isCost } = form
  return (isCost ? runCost : runGet)({ operation, values, json, connection, terminal })
}

/** Lets a stream end cleanly when its user stops it. */
function stopSignal(): AbortSignal {
  const stop = new AbortController()
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => stop.abort())
  return stop.signal
}
