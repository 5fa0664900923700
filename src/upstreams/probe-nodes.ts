/**
 * Probes every node once a second with `getServerInfo`, on a socket that carries nothing else, and keeps each node's
 * health. A probe that takes too long has failed, and so has one whose socket is lost.
 */
import { scoreOf } from '../core/chain/score.ts'
import { elapsedMs } from '../kit/clock.ts'
import { parseExact } from '../kit/exact-json.ts'
import { type HealthPolicy, type NodeHealth, observe, type ProbeResult, UNKNOWN_HEALTH } from './health.ts'
import type { NodePorts } from './node-ports.ts'
import { GROWS_WITHIN_MS, reachedScore, type ScoreClaim } from './reached-score.ts'
import { openReconnectingSocket, type ReconnectingSocket } from './reconnecting-socket.ts'

export interface HealthProbesOptions {
  nodes: readonly { name: string; url: string }[]
  policy: HealthPolicy
  everyMs: number
  timeoutMs: number
  ports: NodePorts
  onChange: (node: string, before: NodeHealth, after: NodeHealth) => void
  /** How long an answered probe took. */
  onProbe?: (node: string, ms: number) => void
}

export function startProbing(options: HealthProbesOptions) {
  const { ports, policy } = options
  const { clock } = ports
  const stop = new AbortController()
  const healths = new Map<string, NodeHealth>()
  const sockets: ReconnectingSocket[] = []
  const openProbes = new Map<string, number>()

  /** What each node has answered in the last seconds. */
  const recent = new Map<string, { readonly atMs: number; readonly score: number }[]>()

  const recentOf = (name: string) =>
    (recent.get(name) ?? []).filter(({ atMs }) => elapsedMs(clock) - atMs <= GROWS_WITHIN_MS)

  function growthOf(name: string): Pick<ScoreClaim, 'grown' | 'inMs'> {
    const seen = recentOf(name)
    const [first, last] = [seen[0], seen.at(-1)]
    if (first === undefined || last === undefined) return { grown: 0, inMs: 0 }
    return { grown: last.score - first.score, inMs: last.atMs - first.atMs }
  }

  /** By the answering nodes of our network. */
  function bestScore(): number {
    const claims: ScoreClaim[] = []
    for (const [name, { state, info }] of healths) {
      if (info?.networkId !== policy.network || state === 'wrong_network' || state === 'down') continue
      claims.push({ score: info.virtualDaaScore, isSynced: info.isSynced, ...growthOf(name) })
    }
    return reachedScore(claims, policy.lagOut)
  }

  function record(name: string, seen: ProbeResult): void {
    if (stop.signal.aborted) return
    const before = healths.get(name) ?? UNKNOWN_HEALTH
    if (seen !== undefined)
      recent.set(name, [...recentOf(name), { atMs: elapsedMs(clock), score: seen.virtualDaaScore }])
    const after = observe(before, seen, bestScore(), policy)
    healths.set(name, after)
    if (after.state !== before.state) options.onChange(name, before, after)
  }

  function follow(node: { name: string; url: string }): void {
    const { promise: firstUp, resolve: onFirstUp } = Promise.withResolvers<void>()
    const socket = openReconnectingSocket({
      url: node.url,
      ports,
      onUp: () => {
        onFirstUp()
        void probe(node.name, socket)
      },
      // A probe that is open when its socket is lost fails and records that. Recording here as well would count one
      // loss twice.
      onDown: () => {
        if ((openProbes.get(node.name) ?? 0) === 0) record(node.name, undefined)
      },
    })
    sockets.push(socket)
    void Promise.race([firstUp, pause(options.timeoutMs)]).then(() => keepProbing(node.name, socket))
  }

  async function keepProbing(name: string, socket: ReconnectingSocket): Promise<void> {
    while (!stop.signal.aborted) {
      await pause(options.everyMs)
      await probe(name, socket)
    }
  }

  async function probe(name: string, socket: ReconnectingSocket): Promise<void> {
    const sentMs = elapsedMs(clock)
    openProbes.set(name, (openProbes.get(name) ?? 0) + 1)
    const answer = await socket.call('getServerInfo', '{}', { timeoutMs: options.timeoutMs })
    openProbes.set(name, (openProbes.get(name) ?? 1) - 1)
    if (answer.kind === 'result') options.onProbe?.(name, elapsedMs(clock) - sentMs)
    record(name, answer.kind === 'result' ? readServerInfo(answer.bytes) : undefined)
  }

  const pause = (ms: number) => clock.sleep(ms, stop.signal).catch(() => {})

  for (const node of options.nodes) {
    healths.set(node.name, UNKNOWN_HEALTH)
    follow(node)
  }
  return {
    health: (node: string): NodeHealth => healths.get(node) ?? UNKNOWN_HEALTH,
    close(): void {
      stop.abort()
      for (const socket of sockets) socket.close()
    },
  }
}

/** undefined if this is not a valid answer, which makes the probe a failed one. */
export function readServerInfo(bytes: Buffer): ProbeResult {
  const read = parseExact(bytes.toString('utf8'), { maxDepth: 8, maxChars: 100_000 })
  if (!read.ok || typeof read.value !== 'object' || read.value === null) return undefined
  const { networkId, isSynced, hasUtxoIndex, virtualDaaScore, serverVersion } = read.value as Record<
    string,
    unknown
  >
  if (typeof networkId !== 'string' || typeof isSynced !== 'boolean' || typeof hasUtxoIndex !== 'boolean') {
    return undefined
  }
  const score = scoreOf(virtualDaaScore)
  if (score === undefined) return undefined
  const version = typeof serverVersion === 'string' ? serverVersion.slice(0, 60) : ''
  return { networkId, isSynced, hasUtxoIndex, virtualDaaScore: score, serverVersion: version }
}
