/** Wraps parts of the service so that their work is recorded in spans; the parts themselves know nothing about it. */
import type { Gate } from '../gate/gate.ts'
import type { GateReply } from '../gate/request.ts'
import type { SpanOptions, Tracing } from '../kit/tracing.ts'
import type { EnvironmentStore } from '../store/environment.ts'
import type { CallOutcome, ParsedOutcome } from '../upstreams/call-outcome.ts'
import type { Upstreams } from '../upstreams/pool.ts'
import type { OpenPoster, PostResult } from '../webhooks/poster.ts'

const SERVER_ERROR = 500

/** A span for each request. */
export function tracedGate<Services>(gate: Gate<Services>, tracing: Tracing): Gate<Services> {
  type Handled = Parameters<Gate<Services>['handle']>
  const about = (...[request, route]: Handled): SpanOptions<GateReply> => ({
    kind: 'server',
    headers: request.headers,
    attributes: {
      'http.request.method': request.method,
      'http.route': route.name.replace(/^\S+ /, ''),
      'url.path': request.path,
      'tapeline.request_id': request.id,
    },
    ended: ({ status }) => ({
      attributes: { 'http.response.status_code': status },
      error: status >= SERVER_ERROR ? `answered ${status}` : undefined,
    }),
  })
  return {
    unread: gate.unread,
    handle: (request, route) =>
      tracing.span(route.name, about(request, route), () => gate.handle(request, route)),
    view: async (request, route, ...rest) =>
      tracing.span(route.name, about(request, route), () => gate.view(request, route, ...rest)),
  }
}

/** A span for each page or row that a request reads. */
export function tracedStore(store: EnvironmentStore, tracing: Tracing): EnvironmentStore {
  const traced =
    <A extends unknown[], R>(name: string, read: (...args: A) => Promise<R>) =>
    async (...args: A): Promise<R> =>
      tracing.span(`store ${name}`, { kind: 'internal', onlyInside: true, attributes: asked(args[0]) }, () =>
        read(...args),
      )
  const { series } = store
  return {
    ...store,
    coveredPage: traced('page', store.coveredPage),
    coveredRow: traced('row', store.coveredRow),
    series: { ...series, page: traced('page', series.page), at: traced('row', series.at) },
  }
}

/** What a query requests; of several feeds only the first. */
function asked(query: unknown) {
  const { feeds = [], limit } = Object(query) as { feeds?: readonly object[]; limit?: number }
  const { dataset, source, symbol, interval } = Object(feeds[0]) as Record<string, string | undefined>
  return {
    'tapeline.dataset': dataset,
    'tapeline.source': source,
    'tapeline.symbol': symbol,
    'tapeline.interval': interval,
    'tapeline.feeds': feeds.length,
    'tapeline.limit': limit,
  }
}

/** A span for each call to a node that a request makes. */
export function tracedUpstreams(upstreams: Upstreams, tracing: Tracing): Upstreams {
  const about = (method: string): SpanOptions<CallOutcome | ParsedOutcome> => ({
    kind: 'client',
    onlyInside: true,
    attributes: { 'rpc.system': 'kaspa', 'rpc.method': method },
    ended: (outcome) => ({
      attributes: {
        'tapeline.attempts': outcome.attempts,
        'tapeline.node': outcome.ok ? outcome.node : undefined,
      },
      error: outcome.ok ? undefined : outcome.failure.kind,
    }),
  })
  const traced = async <R extends CallOutcome | ParsedOutcome>(method: string, work: () => Promise<R>) =>
    (await tracing.span(`node ${method}`, about(method), work)) as R
  return {
    ...upstreams,
    callRaw: (method, ...rest) => traced(method, () => upstreams.callRaw(method, ...rest)),
    sendRaw: (call, ...rest) => traced(call.method.name, () => upstreams.sendRaw(call, ...rest)),
    call: (method, ...rest) => traced(method, () => upstreams.call(method, ...rest)),
  }
}

/** A span for each delivery attempt. */
export function tracedPosters(open: OpenPoster, tracing: Tracing): OpenPoster {
  const ended = ({ status, error }: PostResult) => ({
    attributes: { 'http.response.status_code': status ?? undefined },
    error: error ?? undefined,
  })
  return (options) => {
    const poster = open(options)
    return {
      ...poster,
      post: async (url, headers, body, isWanted) =>
        tracing.span(
          'deliver',
          {
            kind: 'client',
            attributes: {
              'server.address': url.hostname,
              'tapeline.event': headers['X-Svc-Event'],
              'tapeline.delivery': headers['X-Svc-Delivery'],
            },
            ended,
          },
          () => poster.post(url, headers, body, isWanted),
        ),
    }
  }
}
