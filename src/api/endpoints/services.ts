import { endpointFor } from '../../contract/endpoint.ts'
import type { Environment } from '../../core/environment.ts'
import type { Plan } from '../../core/plan.ts'
import type { WebhookService } from '../../webhooks/webhooks.ts'
import type { ChainData } from './chain/chain-data.ts'
import type { ChainIndex } from './chain/chain-index.ts'
import type { MarketData } from './market/market-data.ts'

/** What endpoints work with: one set per environment, made by the composition root. */
export interface Services {
  readonly about: { version: string; startedAtMs: number }
  readonly readiness: () => Promise<Readiness>
  readonly documents: { openapi: () => string | Promise<string>; asyncapi: string }
  /** The sources catalog, derived from the declarations. */
  readonly sourcesCatalog: SourcesBody
  /** What a plan can do, derived from the declarations. */
  readonly features: (plan: Plan) => Record<string, boolean>
  /** The same object until something changes. */
  readonly symbols: () => SymbolsBody | Promise<SymbolsBody>
  readonly market: MarketData
  readonly chain: ChainData
  readonly chainIndex: ChainIndex
  readonly webhooks: Pick<WebhookService, 'subscriptions' | 'deliveries' | 'pauseOf' | 'expected'>
  readonly status: () => Promise<ServiceStatus>
}

export interface Readiness {
  ready: boolean
  parts: { name: string; ok: boolean; detail?: string }[]
}

export interface SourcesBody {
  data: readonly SourceRecord[]
  meta: { symbol: null; source: null; interval: null; count: number; next_cursor: null }
}

export interface SymbolsBody {
  symbols: readonly SymbolRecord[]
}

export interface SourceRecord {
  source: string
  display_name: string
  symbols: string[]
  intervals: string[]
  endpoints: { path: string; method: string; description: string; min_tier: string; credits: string }[]
}

interface SymbolRecord {
  symbol: string
  name: string
  sources: string[]
  intervals: string[]
  earliest_data: string | null
}

export interface ServiceStatus {
  status: 'ok' | 'degraded' | 'down'
  environment: Environment
  ingestion: {
    source: string
    status: 'healthy' | 'stale' | 'down'
    last_event_at: string | null
    lag_seconds: number | null
    rows_inserted: number
    gaps_24h: number
    /** Share of the first backfill that is done; null where there is none. */
    backfill: number | null
    /** For the operator, such as missing credentials. */
    notice: string | null
    /** Of each of its datasets. */
    coverage: { dataset: string; interval: string | null; from: string | null; to: string | null }[]
  }[]
  nodes: {
    name: string
    state: string
    synced: boolean
    daa_score: number | null
    lag: number | null
  }[]
  /** The thread that follows the chain; off where there is no node. */
  index: {
    state: 'running' | 'restarting' | 'off'
    restarts: number
    coverage_from: string | null
    gaps_24h: number
    /** The newest ones, oldest first. */
    gaps: { recorded_at: string; from: string; to: string; reason: string }[]
  }
  webhooks: { pending: number; oldest_pending_seconds: number }
  /** Why nothing is recorded or no node is connected, and which setting changes that. */
  notice: string | null
}

export const endpoint = endpointFor<Services>()
