/**
 * The service's own certificate, read again when its files change:
 *
 *   in use ──files changed──▶ a matching pair ──▶ in use (new connections get it, open ones keep theirs)
 *                        └──▶ unreadable, or a key of another certificate ──▶ the old pair stays in use
 *
 * The files are checked periodically. Tools replace them by renaming a file, a folder or a link, and one after the
 * other, so that for a moment they do not match.
 */
import { createPrivateKey, X509Certificate } from 'node:crypto'
import { readFileSync, statSync } from 'node:fs'
import { readFile, stat } from 'node:fs/promises'
import { createSecureContext } from 'node:tls'
import type { Logger } from '../../kit/log.ts'

export interface CertificateFiles {
  readonly cert: string
  readonly key: string
}

interface CertificatePair {
  readonly cert: Buffer
  readonly key: Buffer
}

export interface Certificate {
  readonly pair: CertificatePair
  readonly expiresAtMs: number
  /** Called with each new pair. */
  onChange(listener: (pair: CertificatePair) => void): void
  close(): void
}

/** The message is one sentence for the operator. */
export class CertificateError extends Error {
  override readonly name = 'CertificateError'
}

const LOOK_INTERVAL_MS = 5_000
const MAX_FILE_BYTES = 1_048_576

export function openCertificate(
  files: CertificateFiles,
  { log, lookIntervalMs = LOOK_INTERVAL_MS }: { log: Logger; lookIntervalMs?: number },
): Certificate {
  let current = readCertificate(files)
  let fault: string | undefined
  let isLooking = false
  const listeners: ((pair: CertificatePair) => void)[] = []

  async function look(): Promise<void> {
    const pair = await readPair(files)
    const isSame = pair.cert.equals(current.pair.cert) && pair.key.equals(current.pair.key)
    if (!isSame) {
      const next = checkPair(files, pair)
      for (const listener of listeners) listener(pair)
      current = next
      log.info({ expires: new Date(next.expiresAtMs).toISOString() }, 'the certificate was replaced')
    }
    fault = undefined
  }

  const timer = setInterval(() => {
    if (isLooking) return
    isLooking = true
    look()
      .catch((error: Error) => {
        if (error.message !== fault)
          log.error({ why: error.message }, 'the new certificate is not usable: the old one stays in use')
        fault = error.message
      })
      .finally(() => {
        isLooking = false
      })
  }, lookIntervalMs)
  timer.unref()

  return {
    get pair() {
      return current.pair
    },
    get expiresAtMs() {
      return current.expiresAtMs
    },
    onChange: (listener) => void listeners.push(listener),
    close: () => clearInterval(timer),
  }
}

interface CheckedPair {
  readonly pair: CertificatePair
  readonly expiresAtMs: number
}

/** Throws a CertificateError that says what is wrong with the files. */
export function readCertificate(files: CertificateFiles): CheckedPair {
  const read = (name: keyof CertificateFiles) => {
    try {
      checkSize(files[name], statSync(files[name]).size)
      return readFileSync(files[name])
    } catch (error) {
      throw unreadable(files, name, error)
    }
  }
  return checkPair(files, { cert: read('cert'), key: read('key') })
}

async function readPair(files: CertificateFiles): Promise<CertificatePair> {
  const read = async (name: keyof CertificateFiles) => {
    try {
      checkSize(files[name], (await stat(files[name])).size)
      return await readFile(files[name])
    } catch (error) {
      throw unreadable(files, name, error)
    }
  }
  return { cert: await read('cert'), key: await read('key') }
}

function checkSize(file: string, bytes: number): void {
  if (bytes > MAX_FILE_BYTES) throw new CertificateError(`${file} is too large for a file of keys`)
}

function unreadable(files: CertificateFiles, name: keyof CertificateFiles, error: unknown): CertificateError {
  const variable = name === 'cert' ? 'TAPELINE_TLS_CERT' : 'TAPELINE_TLS_KEY'
  // Omits the name of the failed call, so that the same fault is reported only once.
  const [what] = (error as Error).message.split(',')
  return new CertificateError(`${variable} names ${files[name]}, which cannot be read: ${what}.`)
}

function checkPair(files: CertificateFiles, pair: CertificatePair): CheckedPair {
  let certificate: X509Certificate
  try {
    certificate = new X509Certificate(pair.cert)
  } catch {
    throw new CertificateError(`TAPELINE_TLS_CERT names ${files.cert}, which is not a certificate in PEM.`)
  }
  let fits: boolean
  try {
    fits = certificate.checkPrivateKey(createPrivateKey(pair.key))
  } catch {
    throw new CertificateError(
      `TAPELINE_TLS_KEY names ${files.key}, which is not a private key in PEM without a passphrase.`,
    )
  }
  if (!fits)
    throw new CertificateError(`The key in ${files.key} is not the one of the certificate in ${files.cert}.`)
  // This also parses the rest of the file, the certificates between this one and its root.
  try {
    createSecureContext(pair)
  } catch (error) {
    throw new CertificateError(`The certificate in ${files.cert} is not usable: ${(error as Error).message}.`)
  }
  return { pair, expiresAtMs: certificate.validToDate.getTime() }
}
