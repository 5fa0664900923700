/** What the service depends on: its store, venues, nodes. */
import { isIP } from 'node:net'
import { isLoopback } from '../../config/exposure.ts'
import { type DoctorCheck, NOTHING } from './check.ts'

export const store: DoctorCheck = {
  name: 'store',
  async run(machine) {
    const findings = await machine.store()
    return (
      findings
        // The folder has its own checks.
        .filter(({ state, about }) => state === 'problem' && about !== 'folder')
        .map(({ about, finding }) => ({
          finding: `${about}: ${finding}`,
          todo: 'tapeline store check shows the whole state of the store.',
        }))
    )
  },
}

export const storeEncryption: DoctorCheck = {
  name: 'store encryption',
  run({ config: { store: address } }) {
    if (address === null) return NOTHING
    const [, hosts = '', options = ''] = /^\w+:\/\/(?:[^@/]*@)?([^/?]*)[^?]*(\?.*)?$/.exec(address) ?? []
    const far = hosts
      .split(',')
      .map((host) => host.replace(/:\d+$/, '').replace(/^\[|\]$/g, ''))
      .filter((host) => host !== '' && !isLoopback(host))
    const mode = new URLSearchParams(options).get('sslmode') ?? 'disable'
    if (far.length === 0 || mode.startsWith('verify') || mode === 'require') return NOTHING
    return [
      {
        finding: `Everything between this machine and PostgreSQL on ${far.join(', ')} is sent in the clear.`,
        todo: 'Add ?sslmode=verify-full&sslrootcert=… to TAPELINE_STORE.',
      },
    ]
  },
}

export const venues: DoctorCheck = {
  name: 'venues',
  async run(machine) {
    const checked = await machine.venues()
    return checked
      .filter(({ ok }) => !ok)
      .map(({ line }) => ({
        finding: line,
        todo: 'Allow outgoing HTTPS and WebSocket connections and DNS, or take the source out of TAPELINE_LIVE.',
      }))
  },
}

export const nodes: DoctorCheck = {
  name: 'nodes',
  async run(machine) {
    const reports = await machine.nodes()
    return reports.flatMap(({ address, fault }) =>
      fault === undefined
        ? []
        : [
            {
              finding: `The node ${address} cannot be used: ${fault}.`,
              todo: 'See docs/recipes/point-at-real-nodes.md.',
            },
          ],
    )
  },
}

/** A single receiver may be down, but if all of them are, outgoing connections are blocked. */
export const webhookEgress: DoctorCheck = {
  name: 'webhook egress',
  async run(machine) {
    const receivers = await machine.receivers()
    if (receivers === undefined)
      return [
        {
          finding: 'Receivers of webhooks were not tried: the store is of an older release.',
          todo: 'See tapeline upgrade --check; after the upgrade, run tapeline doctor again.',
        },
      ]
    const [first] = receivers
    if (first === undefined || receivers.some(({ fault }) => fault === undefined)) return NOTHING
    return [
      {
        finding: `No receiver of webhooks can be reached; ${first.origin}: ${first.fault}.`,
        todo: 'Allow outgoing HTTPS (ports 443 and above 1023) and DNS.',
      },
    ]
  },
}

/** wRPC has no password: anybody between us and the node can read and change its answers. */
export const nodeEncryption: DoctorCheck = {
  name: 'node encryption',
  run({ config: { nodes: addresses } }) {
    const open = addresses
      .map((address) => new URL(address.replace(/^(primary|backup)=/, '')))
      .filter(({ protocol, hostname }) => protocol === 'ws:' && isPublic(hostname))
    if (open.length === 0) return NOTHING
    const finding = `${open.map(({ host }) => host).join(', ')} in TAPELINE_NODES is reached over the internet without TLS.`
    return [{ finding, todo: 'Use a wss:// address, or a node in your own network.' }]
  },
}

const PRIVATE = /^(10\.|127\.|192\.168\.|169\.254\.|172\.(1[6-9]|2\d|3[01])\.|\[?(::1|f[cd]|fe80))/i
const LOCAL_NAME = /(^|\.)(localhost|local|internal|lan|home\.arpa)$/

function isPublic(host: string): boolean {
  const isAddress = isIP(host.replace(/^\[|\]$/g, '')) !== 0
  return isAddress ? !PRIVATE.test(host) : host.includes('.') && !LOCAL_NAME.test(host)
}
