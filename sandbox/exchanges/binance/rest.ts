/** REST of the exchange: routes, weights in the headers, refusals and error bodies. */
import { parseSymbol } from '../../../src/core/symbol.ts'
import type { Reply, Request, RestHandler } from '../server/http-server.ts'
import { createWeightWindow, type Verdict, type WeightWindow } from '../server/weight-window.ts'
import { BinanceError } from './query.ts'
import type { Product } from './streams.ts'

/** Budgets apart from the request weight of the minute. */
export type Pool = 'weight' | 'funding' | 'statistics'

export interface Route {
  readonly weight: (query: URLSearchParams) => number
  readonly pool?: Pool
  readonly handle: (query: URLSearchParams, nowMs: number) => Promise<string> | string
}

export interface RestLimits {
  readonly weightPerMinute: number
  readonly fundingPerFiveMinutes: number
  readonly statisticsPerFiveMinutes: number
  /** Refusals within a window before the ban. */
  readonly bansAfter: number
}

export function createRest(options: {
  product: Product
  routes: Record<string, Route>
  limits: RestLimits
  now: () => number
}): RestHandler {
  const { product, routes, limits, now } = options
  const window = (limit: number, windowMs: number) =>
    createWeightWindow({ limit, windowMs, now, bansAfter: limits.bansAfter })
  const pools: Record<Pool, WeightWindow> = {
    weight: window(limits.weightPerMinute, 60_000),
    funding: window(limits.fundingPerFiveMinutes, 300_000),
    statistics: window(limits.statisticsPerFiveMinutes, 300_000),
  }

  async function handle(request: Request): Promise<Reply> {
    const route = routes[request.path]
    if (route === undefined)
      return {
        status: 404,
        contentType: 'text/html',
        body: '<html><body><h2>404 Not found</h2></body></html>',
      }
    if (request.method !== 'GET')
      return errorReply(new BinanceError(-1000, 'Request method not supported.', 405), {})
    let verdict = pools.weight.take(route.pool === undefined ? route.weight(request.query) : 0)
    const headers = {
      'x-mbx-used-weight': String(verdict.used),
      'x-mbx-used-weight-1m': String(verdict.used),
    }
    if (verdict.refused === undefined && route.pool !== undefined) verdict = pools[route.pool].take(1)
    if (verdict.refused !== undefined) return refusal(verdict.refused, headers)
    try {
      return { status: 200, headers, body: await route.handle(request.query, now()) }
    } catch (error) {
      if (error instanceof BinanceError) return errorReply(error, headers)
      throw error
    }
  }

  function refusal(refused: NonNullable<Verdict['refused']>, headers: Record<string, string>): Reply {
    const msg =
      refused.status === 418
        ? `Way too much request weight used; IP banned until ${refused.untilMs}. Please use WebSocket Streams for live updates to avoid bans.`
        : `Too much request weight used; current limit is ${limits.weightPerMinute} request weight per 1 MINUTE. Please use WebSocket Streams for live updates to avoid polling the API.`
    return errorReply(new BinanceError(-1003, msg, refused.status), {
      ...headers,
      'retry-after': String(refused.retryAfterS),
    })
  }

  return {
    handle,
    symbolOf: (request) => {
      const name = request.query.get('symbol') ?? ''
      return name.endsWith('USDT') ? parseSymbol(name.slice(0, -'USDT'.length)) : undefined
    },
    refuse(status, retryAfterS) {
      if (status === 429 || status === 418)
        return refusal({ status, retryAfterS, untilMs: now() + retryAfterS * 1_000 }, {})
      if (status === 403)
        return { status, contentType: 'text/html', body: '<html><body>403 Forbidden</body></html>' }
      if (status === 451)
        return errorReply(
          new BinanceError(
            0,
            `Service unavailable from a restricted location according to 'b. Eligibility' in the ${product} terms.`,
            451,
          ),
          {},
        )
      return errorReply(
        new BinanceError(-1001, 'Internal error; unable to process your request. Please try again.', status),
        {},
      )
    },
  }
}

function errorReply(error: BinanceError, headers: Record<string, string>): Reply {
  return { status: error.status, headers, body: JSON.stringify({ code: error.code, msg: error.message }) }
}
