/** Self-signed certificates for services on this machine. */
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { join } from 'node:path'

export const SKIP_CERTIFICATES =
  spawnSync('openssl', ['version']).status === 0 ? false : 'openssl is not installed'

/** A certificate for 127.0.0.1; `name` is its common name and the name of its files. */
export function makeCertificate(folder: string, name: string, days = 90): { cert: string; key: string } {
  const files = { cert: join(folder, `${name}.pem`), key: join(folder, `${name}.key`) }
  const curve = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes']
  const names = ['-subj', `/CN=${name}`, '-addext', 'subjectAltName=IP:127.0.0.1']
  const args = [...curve, ...names, '-keyout', files.key, '-out', files.cert, '-days', String(days)]
  assert.equal(spawnSync('openssl', ['req', '-x509', ...args]).status, 0)
  return files
}
