/**
 * The only file that reads the environment. A setting comes from the environment, else from the file that
 * TAPELINE_CONFIG names, else from its default.
 */
import { existsSync, readFileSync } from 'node:fs'
import { homedir } from 'node:os'
import { isAbsolute, join, resolve } from 'node:path'
import { nearest } from '../core/nearest.ts'
import { redactAddress, redactAddresses } from '../kit/redact-address.ts'
import { ACCOUNTS_SETTINGS } from './accounts.ts'
import { CHAIN_SETTINGS } from './chain.ts'
import { MARKET_SETTINGS } from './market.ts'
import { RETENTION_SETTINGS } from './retention.ts'
import { SERVICE_SETTINGS } from './service.ts'
import type { Setting } from './setting.ts'

const SETTINGS = {
  ...SERVICE_SETTINGS,
  ...MARKET_SETTINGS,
  ...RETENTION_SETTINGS,
  ...CHAIN_SETTINGS,
  ...ACCOUNTS_SETTINGS,
} as const satisfies Record<string, Setting<unknown>>

/** Read by the loader itself, by customer commands and by tests; these are not settings of the service. */
const OTHER_VARIABLES = [
  'TAPELINE_URL',
  'TAPELINE_KEY',
  'TAPELINE_WEBHOOK_SECRET',
  'TAPELINE_CONFIG',
  'TAPELINE_FIXTURES',
  'TAPELINE_SOAK',
  'TAPELINE_CHROMIUM',
  'TAPELINE_TEST_POSTGRES',
  'TAPELINE_TEST_ENGINE',
  'TAPELINE_TEST_DISTRIBUTE',
  'TAPELINE_TEST_RUN',
]

export type Config = {
  readonly [K in keyof typeof SETTINGS]: Widen<ReturnType<(typeof SETTINGS)[K]['read']>>
}
type Widen<T> = Exclude<T, undefined>

export class ConfigError extends Error {
  override readonly name = 'ConfigError'
}

export interface LoadedConfig {
  config: Config
  /** One line per setting, with the origin of its value; secrets appear as ***. */
  described: { setting: string; value: string; from: string; about: string }[]
  warnings: string[]
  /** The file that TAPELINE_CONFIG names. */
  file: string | undefined
}

/** The service and key for customer commands, and where they store them. */
export function clientSettings(env: NodeJS.ProcessEnv = process.env): {
  url: string | undefined
  key: string | undefined
  webhookSecret: string | undefined
  configFolder: string
} {
  const own = env.XDG_CONFIG_HOME ?? ''
  return {
    url: env.TAPELINE_URL,
    key: env.TAPELINE_KEY,
    webhookSecret: env.TAPELINE_WEBHOOK_SECRET,
    // The XDG specification says that a relative path must be ignored.
    configFolder: isAbsolute(own) ? own : join(homedir(), '.config'),
  }
}

/** Read by the library that connects to PostgreSQL; `tapeline doctor` checks its strength. */
export function storePasswordOfEnvironment(env: NodeJS.ProcessEnv = process.env): string | undefined {
  return env.PGPASSWORD
}

export function loadConfig(env: NodeJS.ProcessEnv = process.env): LoadedConfig {
  const file = readFile(env.TAPELINE_CONFIG)
  const config: Record<string, unknown> = {}
  const described: LoadedConfig['described'] = []
  for (const [name, spec] of Object.entries(SETTINGS) as [string, Setting<unknown>][]) {
    const { value, from } = pick(name, spec, env, file)
    config[name] = value
    described.push({ setting: spec.variable, value: show(value, spec), from, about: spec.about })
  }
  return {
    config: config as Config,
    described,
    warnings: strayVariables(env),
    file: env.TAPELINE_CONFIG || undefined,
  }
}

function pick(name: string, spec: Setting<unknown>, env: NodeJS.ProcessEnv, file: Record<string, unknown>) {
  const fromEnv = env[spec.variable]
  if (fromEnv !== undefined && fromEnv !== '') return { value: parse(spec, fromEnv), from: 'environment' }
  const fromFile = Object.hasOwn(file, name) ? file[name] : file[spec.variable]
  if (fromFile !== undefined) {
    return { value: parse(spec, fileText(spec, fromFile)), from: 'file' }
  }
  return { value: spec.fallback, from: 'default' }
}

function fileText(spec: Setting<unknown>, value: unknown): string {
  const values: unknown[] = Array.isArray(value) ? value : [value]
  if (values.every((part) => ['string', 'number', 'boolean'].includes(typeof part))) return values.join(',')
  throw new ConfigError(
    `${spec.variable} in the file must be a text, a number, true, false or a list of them.`,
  )
}

function parse(spec: Setting<unknown>, value: string): unknown {
  const parsed = spec.read(value)
  if (parsed !== undefined) return parsed
  const fault = spec.fault?.(value)
  if (fault !== undefined) throw new ConfigError(`${spec.variable}: ${fault}. (${spec.about})`)
  const shown = spec.secret
    ? '***'
    : spec.carriesKeys
      ? JSON.stringify(redactAddress(value))
      : shownText(value)
  throw new ConfigError(`${spec.variable} is ${shown}, but must be ${spec.allowed}. (${spec.about})`)
}

function readFile(path: string | undefined): Record<string, unknown> {
  if (path === undefined || path === '') return {}
  const full = resolve(path)
  if (!existsSync(full)) throw new ConfigError(`TAPELINE_CONFIG names ${path}, which does not exist.`)
  let parsed: unknown
  try {
    parsed = JSON.parse(readFileSync(full, 'utf8'))
  } catch (error) {
    throw new ConfigError(`TAPELINE_CONFIG names ${path}, which is not JSON: ${(error as Error).message}`)
  }
  if (typeof parsed !== 'object' || parsed === null || Array.isArray(parsed)) {
    throw new ConfigError(`TAPELINE_CONFIG names ${path}, which is not a JSON object.`)
  }
  const known = Object.entries(SETTINGS).flatMap(([name, spec]) => [name, spec.variable])
  for (const name of Object.keys(parsed)) {
    if (known.includes(name)) continue
    const near = nearest(name, known)
    throw new ConfigError(`${path} has the unknown setting "${name}".${near ? ` Did you mean ${near}?` : ''}`)
  }
  return parsed as Record<string, unknown>
}

function show(value: unknown, spec: Setting<unknown>): string {
  if (value === null) return 'off'
  if (spec.secret) return '***'
  if (spec.shown !== undefined) return spec.shown(value)
  if (typeof value === 'boolean') return value ? 'on' : 'off'
  if (Array.isArray(value)) return value.length === 0 ? 'off' : redactAddresses(value.join(','))
  return redactAddresses(String(value))
}

/** A value that is not a valid address may contain a password anywhere. */
function shownText(text: string): string {
  return text.includes('@') ? '***' : JSON.stringify(text)
}

function strayVariables(env: NodeJS.ProcessEnv): string[] {
  const known = [...Object.values(SETTINGS).map((spec) => spec.variable), ...OTHER_VARIABLES]
  return Object.keys(env)
    .filter((name) => name.startsWith('TAPELINE_') && !known.includes(name))
    .map((name) => {
      const near = nearest(name, known)
      return `${name} is not a setting.${near ? ` Did you mean ${near}?` : ''}`
    })
}
