/** Runs PostgreSQL's own backup and verification programs. */
import { spawn } from 'node:child_process'
import { globSync } from 'node:fs'
import { BackupRefusedError } from '../backups.ts'
import type { PostgresAddress } from './address.ts'

/** Where Debian and its derivatives install programs that are not on the path. */
const INSTALLED = '/usr/lib/postgresql/*/bin'
const MAX_SHOWN = 400

type Tool = 'pg_basebackup' | 'pg_verifybackup' | 'pg_archivecleanup'

/** Throws BackupRefusedError if the program is not installed, or with its output if it fails. */
export async function runTool(
  tool: Tool,
  args: readonly string[],
  { major, onLine }: { major: number; onLine?: (line: string) => void },
): Promise<void> {
  for (const program of [`${INSTALLED.replace('*', String(major))}/${tool}`, tool, ...newest(tool)]) {
    const result = await runProgram(program, args, onLine)
    if (result === undefined) continue
    if (result.code === 0) return
    throw new BackupRefusedError(`${tool} failed: ${result.said.trim().slice(-MAX_SHOWN)}`)
  }
  throw new BackupRefusedError(
    `${tool} is not installed on this machine: install the PostgreSQL ${major} client and server programs, or use what your provider of PostgreSQL offers.`,
  )
}

function newest(tool: Tool): string[] {
  return globSync(`${INSTALLED}/${tool}`).sort().reverse()
}

/** Undefined if there is no such program. */
function runProgram(
  program: string,
  args: readonly string[],
  onLine: ((line: string) => void) | undefined,
): Promise<{ code: number | null; said: string } | undefined> {
  return new Promise((resolve, reject) => {
    const child = spawn(program, [...args], { stdio: ['ignore', 'ignore', 'pipe'] })
    let said = ''
    child.stderr.setEncoding('utf8')
    child.stderr.on('data', (text: string) => {
      said = (said + text).slice(-10 * MAX_SHOWN)
      for (const line of text.split(/[\r\n]+/)) onLine?.(line)
    })
    child.on('error', (error: { code?: string }) =>
      error.code === 'ENOENT' ? resolve(undefined) : reject(error),
    )
    child.on('close', (code) => resolve({ code, said }))
  })
}

/** The connection string for PostgreSQL's programs. The password is in a file because other users see arguments. */
export function connectionText(
  { hosts, user, database, tls }: PostgresAddress,
  passwordFile: string | undefined,
): string {
  const mode =
    tls === undefined
      ? 'prefer'
      : { nothing: 'require', authority: 'verify-ca', full: 'verify-full' }[tls.verify]
  const values: Record<string, string | undefined> = {
    host: hosts.map(({ host }) => host).join(),
    port: hosts.map(({ port }) => port).join(),
    user,
    dbname: database,
    target_session_attrs: 'read-write',
    sslmode: mode,
    sslrootcert: tls?.rootFile,
    sslcert: tls?.certFile,
    sslkey: tls?.keyFile,
    passfile: passwordFile,
  }
  return Object.entries(values)
    .filter(([, value]) => value !== undefined)
    .map(([name, value]) => `${name}='${String(value).replaceAll(/['\\]/g, '\\$&')}'`)
    .join(' ')
}

export function passwordLine({ user, password }: PostgresAddress): string {
  const escaped = (text: string) => text.replaceAll(/[:\\]/g, '\\$&')
  return `*:*:*:${escaped(user)}:${escaped(password ?? '')}\n`
}
