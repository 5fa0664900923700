/**
 * The real service for tests: in this process or as a child, on an empty data folder and a free port. The
 * simulated venues stay off unless a test switches them on.
 */
import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { type AccountsParts, openAccounts } from '../../src/app/open-accounts.ts'
import { type Service, startService } from '../../src/app.ts'
import { loadConfig } from '../../src/config/config.ts'
import { type Clock, systemClock } from '../../src/kit/clock.ts'
import { createLogger, type Logger } from '../../src/kit/log.ts'
import { ROOMY } from '../roomy.ts'
import type { KeyRequest } from './keys.ts'
import { makeAccount, makeKey } from './keys.ts'
import { storeEnv } from './stores.ts'

const ROOT = join(import.meta.dirname, '..', '..')
const run = promisify(execFile)

/** So generous that neither rate nor history limits interfere with what a test is about. */
export const WIDE_PLAN = {
  name: 'wide',
  extends: 'business',
  requestsPerSecond: 100_000,
  requestsPerMinute: 6_000_000,
}

export function dataFolder(): { path: string; remove: () => void } {
  const path = mkdtempSync(join(tmpdir(), 'tapeline-test-'))
  return { path, remove: () => rmSync(path, { recursive: true, force: true }) }
}

function plansFile(folder: string, plans: readonly object[]): string {
  const file = join(folder, 'plans.json')
  writeFileSync(file, JSON.stringify({ plans }))
  return file
}

export interface TestService {
  readonly url: string
  readonly folder: string
  readonly service: Service
  /** Accounts opened beside the service, as the command line does. */
  readonly parts: AccountsParts
  account(plan?: string): Promise<string>
  key(request?: KeyRequest): Promise<string>
  /** With `keepFiles` another one can be started on the folder. */
  stop(options?: { keepFiles?: boolean }): Promise<void>
}

export interface TestServiceOptions {
  /** The folder of a service that was stopped. */
  folder?: string
  clock?: Clock
  log?: Logger
  env?: Record<string, string>
  plans?: readonly object[]
}

export const silentLog = createLogger({ level: 'silent' })

/** Starts the service in this process. */
export async function startTestService(options: TestServiceOptions = {}): Promise<TestService> {
  const folder = options.folder ?? dataFolder().path
  const { config } = loadConfig({
    ...storeEnv(folder),
    TAPELINE_PORT: '0',
    TAPELINE_SANDBOX: 'off',
    TAPELINE_PLANS: plansFile(folder, options.plans ?? [WIDE_PLAN]),
    ...options.env,
  })
  const clock = options.clock ?? systemClock
  const service = await startService(config, { clock, log: options.log ?? silentLog, version: '0.0.0-test' })
  const parts = openAccounts(config, clock)
  return {
    url: service.url,
    folder,
    service,
    parts,
    account: (plan = 'wide') => makeAccount(parts.accounts, plan),
    key: (request = {}) => makeKey(parts.accounts, request),
    stop: async ({ keepFiles = false } = {}) => {
      await service.stop()
      await parts.store.close()
      if (!keepFiles) rmSync(folder, { recursive: true, force: true })
    },
  }
}

export interface ChildService {
  readonly url: string
  readonly pid: number
  readonly child: ChildProcess
  /** Everything that the process has printed so far. */
  printed(): string
  /** Resolves with the exit code, or the name of the signal that ended it. */
  readonly ended: Promise<number | string>
  kill(signal: 'SIGTERM' | 'SIGKILL' | 'SIGINT'): Promise<number | string>
}

const START_TIMEOUT_MS = 150_000

/** Starts the service in a separate process, as `npm start` does. */
export async function spawnService(
  folder: string,
  options: {
    env?: Record<string, string>
    plans?: readonly object[]
    /** A command that takes the service's command line as its arguments and executes it. */
    wrap?: readonly string[]
  } = {},
): Promise<ChildService> {
  const [command = process.execPath, ...args] = [
    ...(options.wrap ?? []),
    ...[process.execPath, ...ROOMY, 'src/main.ts', 'serve'],
  ]
  const child = spawn(command, args, {
    cwd: ROOT,
    env: childEnv(folder, {
      TAPELINE_PLANS: plansFile(folder, options.plans ?? [WIDE_PLAN]),
      // A month of simulated history would cost every test half a minute; tests that need it set it themselves.
      TAPELINE_FIRST_FILL_DAYS: '1',
      ...options.env,
    }),
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let text = ''
  for (const stream of [child.stdout, child.stderr]) {
    stream.on('data', (chunk) => {
      text += chunk
    })
  }
  const ended = new Promise<number | string>((resolve) => {
    child.once('exit', (code, signal) => resolve(code ?? signal ?? -1))
  })
  const url = await listeningUrl(child, () => text, ended)
  return {
    url,
    pid: child.pid ?? 0,
    child,
    printed: () => text,
    ended,
    kill: (signal) => {
      child.kill(signal)
      return ended
    },
  }
}

/** The key that a first start prints, once it has been printed. */
export async function printedKey(service: ChildService): Promise<string> {
  const endsAt = performance.now() + START_TIMEOUT_MS
  while (performance.now() < endsAt) {
    const [key] = /svc_test_\w{38}/.exec(service.printed()) ?? []
    if (key !== undefined && service.printed().includes('curl ')) return key
    await new Promise((resolve) => setTimeout(resolve, 10))
  }
  throw new Error(`no key was printed:\n${service.printed()}`)
}

async function listeningUrl(
  child: ChildProcess,
  printed: () => string,
  ended: Promise<number | string>,
): Promise<string> {
  const started = new Promise<string>((resolve) => {
    const look = () => {
      const match = /listens on (http:\/\/\S+)/.exec(printed())
      if (match?.[1] !== undefined) resolve(match[1])
    }
    child.stdout?.on('data', look)
    look()
  })
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`the service did not start:\n${printed()}`)), START_TIMEOUT_MS)
  })
  const died = ended.then((code) => {
    throw new Error(`the service ended with ${code}:\n${printed()}`)
  })
  try {
    return await Promise.race([started, late, died])
  } catch (error) {
    child.kill('SIGKILL')
    throw error
  } finally {
    clearTimeout(timer)
    died.catch(() => {})
  }
}

function childEnv(folder: string, more: Record<string, string>): NodeJS.ProcessEnv {
  const clean = Object.entries(process.env).filter(([name]) => !name.startsWith('TAPELINE_'))
  return {
    ...Object.fromEntries(clean),
    ...storeEnv(folder),
    TAPELINE_PORT: '0',
    TAPELINE_SANDBOX: 'off',
    TAPELINE_LOG_LEVEL: 'warn',
    ...more,
  }
}

interface CliResult {
  code: number
  stdout: string
  stderr: string
}

/** Runs the command line on a data folder. */
export async function cli(folder: string, args: readonly string[], env: Record<string, string> = {}) {
  const options = { cwd: ROOT, env: childEnv(folder, env) }
  try {
    const { stdout, stderr } = await run(process.execPath, [...ROOMY, 'src/main.ts', ...args], options)
    return { code: 0, stdout, stderr } satisfies CliResult
  } catch (error) {
    const { code, stdout, stderr } = error as { code: number; stdout: string; stderr: string }
    return { code, stdout, stderr } satisfies CliResult
  }
}

/** Runs a command that must succeed, and parses its JSON output. */
export async function cliJson<T = Record<string, unknown>>(
  folder: string,
  args: readonly string[],
  env: Record<string, string> = {},
): Promise<T> {
  const result = await cli(folder, [...args, '--json'], env)
  if (result.code !== 0) throw new Error(`tapeline ${args.join(' ')} failed: ${result.stderr}`)
  return JSON.parse(result.stdout) as T
}
