/** Tells the operator that nothing is recorded, and which settings change that. */
import type { Environment } from '../../../core/environment.ts'

interface RecordingSettings {
  readonly test: boolean
  readonly sandbox: boolean
  readonly live: readonly string[]
  readonly nodes: readonly string[]
}

export interface IdleNotice {
  /** Null if venues are recorded. */
  readonly market: string | null
  /** Null if nodes are connected. */
  readonly chain: string | null
}

const REAL_VENUES = 'TAPELINE_LIVE (for example TAPELINE_LIVE=all) to record real venues'
const REAL_NODES = 'TAPELINE_NODES (for example TAPELINE_NODES=ws://127.0.0.1:18110) to connect Kaspa nodes'

export function idleNotice(config: RecordingSettings, environment: Environment): IdleNotice {
  if (environment === 'live') {
    return {
      market:
        config.live.length > 0 ? null : `No venue is recorded in the live environment. Set ${REAL_VENUES}.`,
      chain:
        config.nodes.length > 0 ? null : `No node is connected in the live environment. Set ${REAL_NODES}.`,
    }
  }
  if (config.test && config.sandbox) return { market: null, chain: null }
  const on = `${config.test ? '' : 'TAPELINE_TEST=on and '}TAPELINE_SANDBOX=on`
  return {
    market: `No venue is recorded in the test environment: its simulated venues are switched off. Set ${on} for simulated data, or ${REAL_VENUES} in the live environment.`,
    chain: `No node is connected in the test environment: its simulated nodes are switched off. Set ${on} for simulated nodes, or ${REAL_NODES} in the live environment.`,
  }
}

/** Printed at startup if no environment records anything; undefined if one does. */
export function nothingToRecord(config: RecordingSettings): string | undefined {
  if ((config.test && config.sandbox) || config.live.length > 0 || config.nodes.length > 0) return undefined
  const on = `${config.test ? '' : 'TAPELINE_TEST=on and '}TAPELINE_SANDBOX=on`
  return `Nothing is recorded: the sandbox is off, and no venue and no node is set. Set ${on} for simulated data, ${REAL_VENUES}, or ${REAL_NODES}.`
}
