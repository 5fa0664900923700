/**
 * The service and the key of a customer command: from options, else from the environment, else from `tapeline login`.
 */
import { chmodSync, mkdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { CommandError, UsageError } from '../command.ts'

export interface ServiceLogin {
  readonly url: string
  readonly key: string
}

interface Given {
  readonly url: string | undefined
  readonly key: string | undefined
}

export function loginFile(configFolder: string): string {
  return join(configFolder, 'tapeline', 'login.json')
}

export function findConnection(values: Partial<Given>, environment: Given, file: string): ServiceLogin {
  const url = values.url ?? textOrNone(environment.url)
  const key = values.key ?? textOrNone(environment.key)
  const stored = url === undefined || key === undefined ? readLogin(file) : undefined
  const usedUrl = url ?? stored?.url
  if (usedUrl === undefined || !isHttpUrl(usedUrl))
    throw new UsageError(
      'The address of the service is missing: set --url or TAPELINE_URL to http(s)://…, or run tapeline login once.',
    )
  // A stored key is sent only to the service that it was stored for.
  const usedKey = key ?? (stored !== undefined && isSameUrl(usedUrl, stored.url) ? stored.key : undefined)
  if (usedKey === undefined || usedKey === '')
    throw new UsageError(
      stored === undefined
        ? 'The API key is missing: set TAPELINE_KEY or --key, or run tapeline login once.'
        : `The API key is missing: the stored one belongs to ${stored.url}. Set TAPELINE_KEY or --key.`,
    )
  return { url: usedUrl, key: usedKey }
}

export function isHttpUrl(text: string): boolean {
  return /^https?:\/\/\S+$/.test(text) && URL.canParse(text)
}

const textOrNone = (text: string | undefined) => (text === '' ? undefined : text)
const isSameUrl = (one: string, other: string) => bare(one) === bare(other)
const bare = (url: string) => new URL(url).href.replace(/\/+$/, '')

function readLogin(file: string): ServiceLogin | undefined {
  const found = statSync(file, { throwIfNoEntry: false })
  if (found === undefined) return undefined
  if ((found.mode & 0o077) !== 0)
    throw new CommandError(`${file} holds a key and can be read by others. Run: chmod 600 ${file}`)
  const fault = new CommandError(`${file} is not what tapeline login writes. Run it again.`)
  let stored: Partial<ServiceLogin> | null
  try {
    stored = JSON.parse(readFileSync(file, 'utf8')) as Partial<ServiceLogin> | null
  } catch {
    throw fault
  }
  if (typeof stored?.url !== 'string' || typeof stored.key !== 'string' || !isHttpUrl(stored.url)) throw fault
  return { url: stored.url, key: stored.key }
}

/** Written atomically, and never readable by others, not even for a moment. */
export function storeLogin(file: string, { url, key }: ServiceLogin): void {
  mkdirSync(dirname(file), { recursive: true, mode: 0o700 })
  const written = `${file}.${process.pid}`
  rmSync(written, { force: true })
  try {
    writeFileSync(written, `${JSON.stringify({ url, key })}\n`, { mode: 0o600, flag: 'wx' })
    chmodSync(written, 0o600)
    renameSync(written, file)
  } catch (error) {
    rmSync(written, { force: true })
    throw new CommandError(`The key could not be stored: ${(error as Error).message}`)
  }
}

/** Whether there was anything to forget. Also deletes a file that `login` would refuse to read. */
export function forgetLogin(file: string): boolean {
  if (statSync(file, { throwIfNoEntry: false }) === undefined) return false
  try {
    rmSync(file)
  } catch (error) {
    throw new CommandError(`The key could not be deleted: ${(error as Error).message}`)
  }
  return true
}
