import type { Accounts } from '../../accounts/accounts.ts'
import { formatTime } from '../../core/time.ts'
import { type DashboardRoute, json, operatorRoute } from '../route.ts'
import type { AccountCallsView, OverviewView, ProcessView } from '../wire.ts'

interface Call {
  readonly atMs: number
  readonly requestId: string
  readonly method: string
  readonly target: string
  readonly keyId: string
  readonly environment: string
}

export interface OverviewDeps {
  readonly accounts: Accounts
  readonly version: string
  readonly process: ProcessView
  readonly environments: () => Promise<OverviewView['environments']>
  readonly disk: () => OverviewView['disk']
  readonly backup: () => OverviewView['backup']
  /** What this process has seen of an account's calls. */
  readonly callsOf: (accountId: string) => {
    failed: readonly (Call & { status: number; code: string; message: string; times: number })[]
    slowest: readonly (Call & { durationMs: number })[]
  }
}

/** The state of the service, and how it answers one customer. */
export function overviewRoutes(deps: OverviewDeps): DashboardRoute[] {
  return [
    operatorRoute('GET operator/overview', async () =>
      json({
        version: deps.version,
        process: deps.process,
        environments: await deps.environments(),
        disk: deps.disk(),
        backup: deps.backup(),
      } satisfies OverviewView),
    ),
    operatorRoute('GET operator/accounts/{id}/calls', async (context) => {
      const { id } = await deps.accounts.get(context.params.id ?? '')
      const { failed, slowest } = deps.callsOf(id)
      return json({
        process: deps.process,
        failed: failed.map(({ status, code, message, times, ...call }) => ({
          ...callView(call),
          status,
          code,
          message,
          times,
        })),
        slowest: slowest.map(({ durationMs, ...call }) => ({
          ...callView(call),
          duration_ms: Math.round(durationMs),
        })),
      } satisfies AccountCallsView)
    }),
  ]
}

function callView({ atMs, requestId, keyId, ...call }: Call) {
  return { ...call, at: formatTime(atMs), request_id: requestId, key_id: keyId }
}
