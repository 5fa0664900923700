import type { AnyEndpoint } from '../contract/endpoint.ts'
import { limits } from './account/limits.ts'
import { status } from './account/status.ts'
import { sources } from './market/sources.ts'
import { symbols } from './market/symbols.ts'
import { health } from './service/health.ts'
import { openapi } from './service/openapi.ts'
import { ready } from './service/ready.ts'
import type { Services } from './services.ts'

/** The only registry: what is not listed here does not exist. */
export const ENDPOINTS: readonly AnyEndpoint<Services>[] = [
  sources,
  symbols,
  limits,
  status,
  health,
  ready,
  openapi,
]
