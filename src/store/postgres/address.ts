/**
 * Parses `postgres://user:password@host1:5432,host2/database?option=value`, because the driver accepts only one host.
 * The address contains a password, so it is shown only through `shownAddress`.
 */
import { readFileSync } from 'node:fs'
import type { ConnectionOptions } from 'node:tls'

/** A plain value that can be passed to threads. */
export interface PostgresAddress {
  readonly engine: 'postgres'
  /** In the order in which they are tried. */
  readonly hosts: readonly { readonly host: string; readonly port: number }[]
  readonly database: string
  readonly user: string
  /** Undefined if the password comes from PGPASSWORD or the password file. */
  readonly password: string | undefined
  readonly tls: TlsSettings | undefined
  /** All schema names start with this, so that several services can share a database. */
  readonly schema: string
  /** Connections per thread and schema. */
  readonly poolSize: number
  /** A statement that takes longer is cancelled. */
  readonly statementMs: number
  readonly cacheMb: number
}

interface TlsSettings {
  readonly verify: 'nothing' | 'authority' | 'full'
  readonly rootFile: string | undefined
  readonly certFile: string | undefined
  readonly keyFile: string | undefined
}

/** Explains what is wrong with an address without repeating it, because it may contain a password. */
class PostgresAddressError extends RangeError {
  override readonly name = 'PostgresAddressError'
}

const DEFAULT_PORT = 5432
const DEFAULT_SCHEMA = 'tapeline'
const DEFAULT_POOL_SIZE = 10
const DEFAULT_STATEMENT_SECONDS = 10
const MAX_HOSTS = 16
const SSL_MODES = ['disable', 'require', 'verify-ca', 'verify-full'] as const
const OPTIONS = [
  'sslmode',
  'sslrootcert',
  'sslcert',
  'sslkey',
  'target_session_attrs',
  'schema',
  'pool_size',
  'statement_timeout',
] as const
type Option = (typeof OPTIONS)[number]

const ADDRESS = /^postgres(?:ql)?:\/\/(?:([^@/?#]*)@)?([^@/?#]+)\/([^/?#]+)(?:\?([^#]*))?$/s
/** A host name, an IPv4 address or an IPv6 address in brackets, optionally followed by a port. */
const HOST = /^(\[[0-9a-f:.]+\]|[a-z0-9._-]+)(?::(\d{1,5}))?$/i
const SCHEMA = /^[a-z][a-z0-9_]{0,40}$/

export function isPostgresAddress(text: string): boolean {
  return /^postgres(?:ql)?:/.test(text)
}

export function parsePostgresAddress(text: string, cacheMb: number): PostgresAddress {
  const [, login, hosts, database, query] = ADDRESS.exec(text) ?? []
  if (hosts === undefined || database === undefined)
    throw wrong('it must look like postgres://user@host:5432/database; several hosts are separated by commas')
  const [user, password] = splitLogin(login ?? '')
  if (user === '') throw wrong('it names no user: postgres://user@host/database')
  const options = readOptions(query ?? '')
  const target = options.get('target_session_attrs') ?? 'read-write'
  if (target !== 'read-write') throw wrong('target_session_attrs can only be read-write')
  const schema = options.get('schema') ?? DEFAULT_SCHEMA
  if (!SCHEMA.test(schema))
    throw wrong('schema must be lower-case letters, digits and _, at most 41, starting with a letter')
  return {
    engine: 'postgres',
    hosts: readHosts(hosts),
    database: decode(database),
    user,
    password,
    tls: readTls(options),
    schema,
    poolSize: whole(options, 'pool_size', { min: 2, max: 200, fallback: DEFAULT_POOL_SIZE }),
    statementMs:
      1000 * whole(options, 'statement_timeout', { min: 1, max: 600, fallback: DEFAULT_STATEMENT_SECONDS }),
    cacheMb,
  }
}

/** For logs and messages: hosts and database, nothing secret. */
export function shownAddress({ hosts, database, schema }: PostgresAddress): string {
  const shown = hosts.map(({ host, port }) => `${host.includes(':') ? `[${host}]` : host}:${port}`)
  return `postgres://${shown.join(',')}/${database}${schema === DEFAULT_SCHEMA ? '' : `?schema=${schema}`}`
}

/** Reads the files for every connection, so that renewed certificates are used. */
export function tlsOptions({ tls }: PostgresAddress, host: string): ConnectionOptions | false {
  if (tls === undefined) return false
  const read = (file: string | undefined) => (file === undefined ? undefined : readFileSync(file, 'utf8'))
  return {
    rejectUnauthorized: tls.verify !== 'nothing',
    servername: host,
    ...(tls.verify === 'authority' ? { checkServerIdentity: () => undefined } : {}),
    ...(tls.rootFile === undefined ? {} : { ca: read(tls.rootFile) as string }),
    ...(tls.certFile === undefined ? {} : { cert: read(tls.certFile) as string }),
    ...(tls.keyFile === undefined ? {} : { key: read(tls.keyFile) as string }),
  }
}

function wrong(why: string): PostgresAddressError {
  return new PostgresAddressError(`The address of the PostgreSQL store is wrong: ${why}.`)
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    throw wrong('a % in it is not followed by two hexadecimal digits (a % itself is written %25)')
  }
}

function splitLogin(login: string): [user: string, password: string | undefined] {
  const colon = login.indexOf(':')
  if (colon < 0) return [decode(login), undefined]
  return [decode(login.slice(0, colon)), decode(login.slice(colon + 1))]
}

function readHosts(text: string): PostgresAddress['hosts'] {
  const parts = text.split(',')
  if (parts.length > MAX_HOSTS) throw wrong(`it names more than ${MAX_HOSTS} hosts`)
  return parts.map((part) => {
    const [, host, port = String(DEFAULT_PORT)] = HOST.exec(part) ?? []
    if (host === undefined || Number(port) < 1 || Number(port) > 65_535)
      throw wrong('a host must be a name or an address, with a port from 1 to 65535 after a colon')
    return { host: host.replace(/^\[|\]$/g, ''), port: Number(port) }
  })
}

function readOptions(query: string): Map<Option, string> {
  const options = new Map<Option, string>()
  for (const [name, value] of new URLSearchParams(query)) {
    const known = OPTIONS.find((option) => option === name)
    if (known === undefined)
      throw wrong(`it has an option ${name.slice(0, 40)}; known are ${OPTIONS.join(', ')}`)
    options.set(known, value)
  }
  return options
}

function readTls(options: Map<Option, string>): TlsSettings | undefined {
  const mode = options.get('sslmode') ?? 'disable'
  if (!(SSL_MODES as readonly string[]).includes(mode))
    throw wrong(`sslmode must be one of ${SSL_MODES.join(', ')}`)
  const files = {
    rootFile: options.get('sslrootcert'),
    certFile: options.get('sslcert'),
    keyFile: options.get('sslkey'),
  }
  if (mode === 'disable') {
    if (Object.values(files).some((file) => file !== undefined))
      throw wrong('certificates without sslmode=require, verify-ca or verify-full would not be used')
    return undefined
  }
  if (mode === 'verify-ca' && files.rootFile === undefined) throw wrong('sslmode=verify-ca needs sslrootcert')
  const verify = mode === 'verify-full' ? 'full' : mode === 'verify-ca' ? 'authority' : 'nothing'
  return { verify, ...files }
}

function whole(
  options: Map<Option, string>,
  name: Option,
  { min, max, fallback }: { min: number; max: number; fallback: number },
): number {
  const text = options.get(name)
  if (text === undefined) return fallback
  const value = /^\d{1,6}$/.test(text) ? Number(text) : Number.NaN
  if (!(value >= min && value <= max)) throw wrong(`${name} must be a whole number from ${min} to ${max}`)
  return value
}
