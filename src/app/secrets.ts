/** Secrets of this installation, created at its first start and stored in the data folder. */
import { hkdfSync, randomBytes } from 'node:crypto'
import { existsSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { ConfigError } from '../config/config.ts'
import type { Environment } from '../core/environment.ts'
import type { Logger } from '../kit/log.ts'
import { createSecretBox, type SecretBox } from '../kit/secret-box.ts'
import type { JobsStore } from '../store/jobs.ts'
import { SECRET_BYTES, type SecretPlace, type SharedSecrets } from '../store/shared-secrets.ts'
import { everySubscription } from '../webhooks/every-subscription.ts'
import { DataFolderError } from './data-folder.ts'

/** Secrets that are needed to use what is stored. */
const SECRET_NAMES = ['webhook', 'cursor'] as const
type SecretName = (typeof SECRET_NAMES)[number]

interface SecretFile {
  readonly file: string
  readonly bytes: Buffer
  readonly isNew: boolean
}

export interface InstallationSecrets {
  /**
   * Encrypts stored values that have to be read again: signing secrets of webhooks, and answers that may be repeated.
   */
  readonly box: SecretBox
  readonly cursorKey: Buffer
  /** For the invitation that all processes on a store show; undefined if each start creates a new one. */
  readonly invitation: Buffer | undefined
  /** Throws if the store was encrypted with another key. */
  checkWebhooks(environment: Environment, store: JobsStore): Promise<void>
  /** Writes new secrets to disk, after everything that is stored has been checked against them. */
  save(): void
}

export function openSecrets(
  folder: string,
  options: { isFirstStart: boolean; log: Logger },
): InstallationSecrets {
  const webhook = openSecret(fileOf(folder, 'webhook'))
  const cursor = openSecret(fileOf(folder, 'cursor'))
  if (cursor.isNew && !options.isFirstStart) {
    // No data is lost, but clients that page through a list have to start again.
    options.log.warn({ file: cursor.file }, 'a missing secret was created again: earlier cursors are refused')
  }
  const box = createSecretBox(webhook.bytes, randomBytes)
  return {
    box,
    cursorKey: cursor.bytes,
    invitation: undefined,
    async checkWebhooks(environment, store) {
      const unreadable = await countUnreadable(box, store)
      if (unreadable === 0) return
      const what = webhook.isNew ? 'is missing' : 'is another key'
      throw new DataFolderError(
        `${webhook.file} ${what}: the signing secrets of ${unreadable} webhooks of the ${environment} environment cannot be read without it. Put it back from a backup, or remove ${join(folder, `${environment}-webhooks.db`)} to go on without these webhooks.`,
      )
    },
    save() {
      for (const secret of [webhook, cursor]) if (secret.isNew) write(secret)
    },
  }
}

/**
 * Secrets that all processes on a store share: created by the first one, and stored encrypted under TAPELINE_SECRET.
 */
export async function openSharedSecrets(
  store: SharedSecrets,
  secret: string | null,
): Promise<InstallationSecrets> {
  const master = masterBox(secret)
  const open = async (name: SecretName | 'invitation'): Promise<Buffer> => {
    const proposed = sealed(master, randomBytes(SECRET_BYTES))
    return opened(master, await store.sharedSecret(name, proposed))
  }
  const box = createSecretBox(await open('webhook'), randomBytes)
  return {
    box,
    cursorKey: await open('cursor'),
    invitation: await open('invitation'),
    async checkWebhooks(environment, jobs) {
      const unreadable = await countUnreadable(box, jobs)
      if (unreadable > 0)
        throw new ConfigError(
          `The signing secrets of ${unreadable} webhooks of the ${environment} environment cannot be read: they were stored under another key.`,
        )
    },
    save() {},
  }
}

/**
 * The secrets of a store, to be written to a copy of it, so that cursors and webhook signatures stay valid. They are
 * read before anything is copied, so that a wrong TAPELINE_SECRET is noticed first.
 */
export async function secretsOf(
  from: SecretPlace,
  secret: string | null,
): Promise<{ writeTo(place: SecretPlace): Promise<void> }> {
  const master = masterBox(secret)
  const found = new Map<SecretName, Buffer>()
  for (const name of SECRET_NAMES) {
    const bytes = await readSecret(from, name, master)
    if (bytes !== undefined) found.set(name, bytes)
  }
  return {
    async writeTo(to) {
      for (const [name, bytes] of found) {
        if (to.stored !== undefined) {
          await to.stored.put(name, sealed(master, bytes))
          const stored = await to.stored.get(name)
          if (stored === undefined || !opened(master, stored).equals(bytes))
            throw new ConfigError(`The copy has another secret for ${name} already: empty it first.`)
        } else if (to.folder !== undefined) write({ file: fileOf(to.folder, name), bytes })
      }
    },
  }
}

async function readSecret(
  place: SecretPlace,
  name: SecretName,
  master: SecretBox,
): Promise<Buffer | undefined> {
  if (place.stored !== undefined) {
    const found = await place.stored.get(name)
    return found === undefined ? undefined : opened(master, found)
  }
  const { bytes, isNew } = openSecret(fileOf(place.folder ?? '.', name))
  return isNew ? undefined : bytes
}

export function assertSecret(secret: string | null): asserts secret is string {
  if (secret === null)
    throw new ConfigError(
      'TAPELINE_SECRET must be set with TAPELINE_STORE: at least 32 characters, the same for all processes.',
    )
}

/** Encrypts the secrets of a shared store. */
function masterBox(secret: string | null): SecretBox {
  assertSecret(secret)
  const key = Buffer.from(hkdfSync('sha256', secret, 'tapeline', 'shared secrets', SECRET_BYTES))
  return createSecretBox(key, randomBytes)
}

function sealed(master: SecretBox, bytes: Buffer): string {
  return master.seal(bytes.toString('hex'))
}

function opened(master: SecretBox, text: string): Buffer {
  if (!canOpen(master, text))
    throw new ConfigError(
      'TAPELINE_SECRET is not the one that this store was first used with: set it as for the other processes.',
    )
  return Buffer.from(master.open(text), 'hex')
}

function fileOf(folder: string, name: SecretName): string {
  return join(folder, `${name}.key`)
}

async function countUnreadable(box: SecretBox, store: JobsStore): Promise<number> {
  let unreadable = 0
  for await (const { secret } of everySubscription(store)) if (!canOpen(box, secret)) unreadable++
  return unreadable
}

function openSecret(file: string): SecretFile {
  if (!existsSync(file)) return { file, bytes: randomBytes(SECRET_BYTES), isNew: true }
  const bytes = readFileSync(file)
  if (bytes.length !== SECRET_BYTES) {
    throw new DataFolderError(
      `${file} has ${bytes.length} bytes and is no secret of ${SECRET_BYTES} bytes. Put it back from a backup.`,
    )
  }
  return { file, bytes, isNew: false }
}

/** Writes atomically. */
function write({ file, bytes }: Pick<SecretFile, 'file' | 'bytes'>): void {
  writeFileSync(`${file}.new`, bytes, { mode: 0o600, flush: true })
  renameSync(`${file}.new`, file)
}

function canOpen(box: SecretBox, sealed: string): boolean {
  try {
    box.open(sealed)
    return true
  } catch {
    return false
  }
}
