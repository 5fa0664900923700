/** The machine as `tapeline doctor` examines it; every request has its own time limit. */

import { globSync } from 'node:fs'
import { connect } from 'node:net'
import { totalmem } from 'node:os'
import { join } from 'node:path'
import { readCertificate } from '../api/http/certificate.ts'
import type { Machine, NodeReport, Receiver } from '../cli/doctor/check.ts'
import type { Config, LoadedConfig } from '../config/config.ts'
import type { Source } from '../core/source.ts'
import type { Clock } from '../kit/clock.ts'
import { redactAddress } from '../kit/redact-address.ts'
import { readLastBackup } from '../store/backup/last-backup.ts'
import { checkStore, currentHolder, openStores, planUpgrade, SERVICE_LOCK } from '../store/open-stores.ts'
import { dialNode } from '../upstreams/dial-node.ts'
import { readServerInfo } from '../upstreams/probe-nodes.ts'
import { WrpcSocket } from '../upstreams/wrpc.ts'
import { everySubscription } from '../webhooks/every-subscription.ts'
import { createGuard, type Guard } from '../webhooks/guard.ts'
import { receiverResolve } from '../webhooks/resolve-host.ts'
import { venueOfSource } from './backfill-venue.ts'
import { storeAddress } from './data-folder.ts'
import { runningEnvironments } from './environments.ts'
import { liveSetting } from './live-setting.ts'
import { openVenue } from './open-venue.ts'

const ASK_WITHIN_MS = 10_000
/** Of the systemd unit: `EnvironmentFile=` in deploy/systemd. */
const UNIT_SETTINGS = '/etc/tapeline'

export function examinedMachine(
  { config, warnings, file }: LoadedConfig,
  {
    clock,
    storePassword,
    unitSettings = UNIT_SETTINGS,
  }: { clock: Clock; storePassword: string | undefined; unitSettings?: string },
): Machine {
  const settings = [...new Set(config.live.map((source) => venueOfSource(source as Source)))].flatMap(
    (name) => (name === undefined ? [] : [liveSetting(name, config)]),
  )
  return {
    config,
    warnings,
    settingsFiles: [...(file === undefined ? [] : [file]), ...globSync(join(unitSettings, '*.env'))],
    nowMs: clock.now(),
    service: currentHolder(config.data, SERVICE_LOCK),
    memoryBytes: Math.min(totalmem(), process.constrainedMemory() || Number.POSITIVE_INFINITY),
    lastBackup: readLastBackup(config.data),
    storePassword: passwordIn(config.store) ?? storePassword,
    store: () => checkStore(storeAddress(config)),
    certificate: (files) => readCertificate(files),
    venues: () => {
      const signal = AbortSignal.timeout(ASK_WITHIN_MS)
      return Promise.all(settings.map((setting) => openVenue(setting, clock).check({ signal })))
    },
    async clocks() {
      const hosts = settings.flatMap((setting) => Object.values(setting.hosts ?? {}))
      const origins = new Set(hosts.filter((url) => /^https?:/.test(url)).map((url) => new URL(url).origin))
      const clocks = await Promise.all([...origins].map((origin) => clockOf(origin, clock)))
      return clocks.flatMap((each) => each ?? [])
    },
    nodes: () => Promise.all(config.nodes.map((node) => askNode(node, config.network, clock))),
    receivers: () => reachReceivers(config, clock),
    statusOf: (url) =>
      ask(url).then(
        ({ status }) => status,
        () => undefined,
      ),
  }
}

function passwordIn(store: string | null): string | undefined {
  const [, password] = /^\w+:\/\/[^:@/]*:([^@/]*)@/.exec(store ?? '') ?? []
  return password === undefined ? undefined : decodeURIComponent(password)
}

async function ask(url: string): Promise<Response> {
  const response = await fetch(url, { redirect: 'manual', signal: AbortSignal.timeout(ASK_WITHIN_MS) })
  await response.body?.cancel()
  return response
}

/** Reads the Date header, which has whole seconds; undefined if there is none or the host cannot be reached. */
async function clockOf(host: string, clock: Clock): Promise<{ host: string; aheadMs: number } | undefined> {
  try {
    const askedMs = clock.now()
    const date = Date.parse((await ask(host)).headers.get('date') ?? '')
    if (Number.isNaN(date)) return undefined
    return { host, aheadMs: (askedMs + clock.now()) / 2 - (date + 500) }
  } catch {
    return undefined
  }
}

const MAX_RECEIVERS = 10
const CONNECT_WITHIN_MS = 5_000

async function reachReceivers(config: Config, clock: Clock): Promise<Receiver[] | undefined> {
  if (!runningEnvironments(config).includes('live')) return []
  const address = storeAddress(config)
  const stores = openStores(address, clock)
  // Opening a store that does not exist yet would create it.
  const isThere = stores.isShared
    ? currentHolder(config.data, SERVICE_LOCK) !== undefined
    : stores.files(['live']).some((file) => file.endsWith('-webhooks.db'))
  if (!isThere) return []
  const plans = await planUpgrade(address)
  // Opening an emptied database would create its tables.
  if (!stores.isShared && plans.some(({ tables, from }) => tables === 'live-webhooks' && from === 0))
    return []
  // Opening a store of an older release would upgrade it.
  if (plans.some(({ steps }) => steps.length > 0)) return undefined
  const store = stores.jobs('live')
  const origins = new Set<string>()
  try {
    for await (const { url, active } of everySubscription(store)) {
      if (active) origins.add(new URL(url).origin)
      if (origins.size === MAX_RECEIVERS) break
    }
  } finally {
    await store.close()
  }
  const allowPrivate = config.allowPrivateWebhooks
  const guard = createGuard({ allowPrivate, resolve: receiverResolve(clock, { allowPrivate }) })
  return Promise.all([...origins].map((origin) => reach(origin, guard)))
}

async function reach(origin: string, guard: Guard): Promise<Receiver> {
  try {
    const { protocol, hostname, port } = await guard.check(origin)
    const number = port === '' ? (protocol === 'https:' ? 443 : 80) : Number(port)
    await new Promise<void>((resolve, reject) => {
      const socket = connect({
        host: hostname.replace(/^\[|\]$/g, ''),
        port: number,
        lookup: guard.lookup(protocol),
      })
      const end = (settle: () => void) => {
        socket.destroy()
        settle()
      }
      socket.setTimeout(CONNECT_WITHIN_MS, () => end(() => reject(new Error('no connection in time'))))
      socket.on('error', (error) => end(() => reject(error)))
      socket.once('connect', () => end(resolve))
    })
    return { origin, fault: undefined }
  } catch (error) {
    return { origin, fault: (error as Error).message }
  }
}

async function askNode(setting: string, network: string, clock: Clock): Promise<NodeReport> {
  const url = setting.replace(/^(primary|backup)=/, '')
  const address = redactAddress(url)
  const opened = Promise.withResolvers<string | undefined>()
  const socket = new WrpcSocket({
    ...{ url, dial: dialNode, clock },
    onOpen: () => opened.resolve(undefined),
    onClose: (detail) => opened.resolve(detail),
  })
  try {
    const fault = await opened.promise
    if (fault !== undefined) return { address, fault }
    const answer = await socket.call('getServerInfo', '{}', { timeoutMs: ASK_WITHIN_MS })
    const info = answer.kind === 'result' ? readServerInfo(answer.bytes) : undefined
    return { address, fault: faultOf(info, network) }
  } finally {
    socket.close()
  }
}

function faultOf(info: ReturnType<typeof readServerInfo>, network: string): string | undefined {
  if (info === undefined) return 'it does not answer as a node does over wRPC JSON'
  if (info.networkId !== network) return `it is on ${info.networkId}, and TAPELINE_NETWORK is ${network}`
  if (!info.isSynced) return 'it is not synchronised yet'
  return info.hasUtxoIndex ? undefined : 'it runs without --utxoindex'
}
