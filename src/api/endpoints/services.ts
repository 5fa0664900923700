import { endpointFor } from '../../contract/endpoint.ts'
import type { Plan } from '../../core/plan.ts'
import type { WebhookService } from '../../webhooks/webhooks.ts'
import type { ServiceStatus } from './account/service-status.ts'
import type { ChainData } from './chain/chain-data.ts'
import type { SourcesBody, SymbolsBody } from './market/catalog-schema.ts'
import type { MarketData } from './market/market-data.ts'

/** What endpoints depend on: one set per environment, created by the composition root. */
export interface Services {
  readonly about: { version: string; startedAtMs: number }
  readonly readiness: () => Promise<Readiness>
  readonly documents: { openapi: () => Buffer | Promise<Buffer>; asyncapi: Buffer }
  /** The sources catalog, derived from the declarations. */
  readonly sourcesCatalog: SourcesBody
  /** What a plan can do, derived from the declarations. */
  readonly features: (plan: Plan) => Record<string, boolean>
  /** Returns the same object until something changes. */
  readonly symbols: () => SymbolsBody | Promise<SymbolsBody>
  readonly market: MarketData
  readonly chain: ChainData
  readonly webhooks: Pick<WebhookService, 'subscriptions' | 'deliveries' | 'pauseOf' | 'expected'>
  readonly status: () => Promise<ServiceStatus>
  /** While the disk is low, work that can wait is refused. */
  readonly isDiskLow: () => boolean
}

export interface Readiness {
  ready: boolean
  parts: { name: string; ok: boolean; detail?: string }[]
}

export const endpoint = endpointFor<Services>()
