/** The service's own TLS. */
import { statSync } from 'node:fs'
import { DAY_MS } from '../../core/time.ts'
import { type DoctorCheck, type Machine, NOTHING } from './check.ts'

const MIN_DAYS = 14
const OTHERS = 0o077

function filesOf({ config: { tlsCert: cert, tlsKey: key } }: Machine) {
  return cert === null || key === null ? undefined : { cert, key }
}

export const certificate: DoctorCheck = {
  name: 'certificate',
  run(machine) {
    const { tlsCert, tlsKey } = machine.config
    const files = filesOf(machine)
    const todo =
      'Correct TAPELINE_TLS_CERT and TAPELINE_TLS_KEY: PEM files of one pair, which this user can read.'
    if (files === undefined) {
      const isHalf = tlsCert !== null || tlsKey !== null
      return isHalf ? [{ finding: 'Only one of the two files of the certificate is set.', todo }] : NOTHING
    }
    try {
      machine.certificate(files)
      return NOTHING
    } catch (error) {
      return [{ finding: (error as Error).message, todo }]
    }
  },
}

export const certificateExpiry: DoctorCheck = {
  name: 'certificate expiry',
  run(machine) {
    const files = filesOf(machine)
    const expiresAtMs = files === undefined ? undefined : expiryOf(machine, files)
    if (expiresAtMs === undefined) return NOTHING
    const days = (expiresAtMs - machine.nowMs) / DAY_MS
    if (days >= MIN_DAYS) return NOTHING
    const date = new Date(expiresAtMs).toISOString().slice(0, 10)
    return [
      {
        finding: days < 0 ? `The certificate expired on ${date}.` : `The certificate expires on ${date}.`,
        todo: 'Renew it; the service reads the new files by itself.',
      },
    ]
  },
}

/** Files that do not match are reported by another check. */
function expiryOf(machine: Machine, files: { cert: string; key: string }): number | undefined {
  try {
    return machine.certificate(files).expiresAtMs
  } catch {
    return undefined
  }
}

export const privateKey: DoctorCheck = {
  name: 'private key',
  run({ config: { tlsKey: file } }) {
    if (file === null) return NOTHING
    const mode = statSync(file, { throwIfNoEntry: false })?.mode ?? 0
    if ((mode & OTHERS) === 0) return NOTHING
    return [{ finding: `Other users can read the private key ${file}.`, todo: `chmod 400 ${file}` }]
  },
}
