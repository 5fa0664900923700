import { constants } from 'node:crypto'
import { createServer } from 'node:http'
import type { Server as SecureServer } from 'node:https'
import type { Socket } from 'node:net'
import type { Readable } from 'node:stream'
import Fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify'
import { MAX_REQUEST_BODY_BYTES } from '../../contract/endpoint.ts'
import { ApiError } from '../../core/errors.ts'
import type { Dashboard } from '../../dashboard/dashboard.ts'
import type { PublicPage } from '../../dashboard/pages/public-page.ts'
import { SITE_PAGES } from '../../dashboard/site.ts'
import { errorReply } from '../../gate/error-reply.ts'
import type { Gate } from '../../gate/gate.ts'
import type { GateReply } from '../../gate/request.ts'
import { systemClock } from '../../kit/clock.ts'
import { addressMatcher, parseCidr } from '../../kit/ip-range.ts'
import type { Logger } from '../../kit/log.ts'
import type { Metrics } from '../../kit/metrics.ts'
import { ignoreConnectionErrors } from '../../kit/socket-errors.ts'
import { methodFinder, type PublishedRoute } from '../publish/router.ts'
import { logAcceptErrors } from './accept-errors.ts'
import { type BoundPort, bindPort } from './bind-port.ts'
import { createBodyMemory } from './body-memory.ts'
import { boundConnections } from './bound-connections.ts'
import { boundDropped } from './bound-dropped.ts'
import { boundPipelines } from './bound-pipelines.ts'
import { callerAddress, requestAddress } from './caller-address.ts'
import type { Certificate } from './certificate.ts'
import { answerClientError, clientErrorReply } from './client-error.ts'
import { collectBody } from './collect-body.ts'
import { createCors } from './cors.ts'
import { addDashboard } from './dashboard-routes.ts'
import { type FastHandler, type FastHttp, openFastHttp } from './fast-http.ts'
import { keepHalfClosedReaders } from './half-closed.ts'
import { addMcp, MCP_PATH, type McpOptions } from './mcp-route.ts'
import { metricsReply } from './metrics-page.ts'
import { notFoundError } from './not-found.ts'
import { hostFault } from './one-host.ts'
import { parseInTurns } from './parse-in-turns.ts'
import { publicReply } from './public-reply.ts'
import { requestIds } from './request-ids.ts'
import { observeRoutes } from './request-metrics.ts'
import { routeServer } from './route-server.ts'
import { sendReply } from './send.ts'
import { splitTarget } from './target.ts'
import { VARY, type Vary } from './vary.ts'
import { acceptStreams, type StreamOptions, WEBSOCKET_PATH, WEBSOCKET_VERSION } from './websocket.ts'

export interface HttpOptions<Services> {
  readonly host: string
  readonly port: number
  /** The port, if it is already bound. */
  readonly bound?: BoundPort
  /** Enables TLS. */
  readonly certificate?: Certificate
  readonly bodyLimitBytes: number
  readonly trustedProxies: readonly string[]
  readonly corsOrigins: readonly string[]
  readonly metricsPort: number | null
  readonly metricsToken: string | null
  readonly gate: Gate<Services>
  readonly routes: readonly PublishedRoute<Services>[]
  readonly withdrawn: Readonly<Record<string, string>>
  readonly pages: readonly PublicPage[]
  readonly dashboard?: Dashboard
  readonly metrics: Metrics
  readonly log: Logger
  /** How long a connection stays open while it is idle or not read. */
  readonly keepAliveMs?: number
  /** How long a request may take to arrive; tests set another value. */
  readonly requestTimeoutMs?: number
  readonly stream?: Omit<StreamOptions, 'isTrustedProxy' | 'log' | 'nextId'>
  readonly mcp?: McpOptions
}

export interface HttpServer {
  readonly url: string
  readonly metricsUrl: string | null
  /** Answers requests in flight; connections that are still open after the grace period are closed. */
  close(graceMs: number): Promise<void>
}

const IDLE_SWEEP_MS = 50
const KEEP_ALIVE_MS = 65_000
const REQUEST_TIMEOUT_MS = 30_000
/** How often Node looks for requests that have timed out; its default is every 30 s. */
const REQUEST_CHECK_MS = 1_000
/** A collector asks once every few seconds. */
const MAX_METRICS_CONNECTIONS = 64
/** `allowHalfOpen` is set as for plain connections (`half-closed.ts`). */
const TLS = {
  minVersion: 'TLSv1.2',
  handshakeTimeout: 10_000,
  allowHalfOpen: true,
  // Otherwise a client could request handshake after handshake on one connection, each of which costs us more than the
  // client.
  secureOptions: constants.SSL_OP_NO_RENEGOTIATION,
} as const
const NO_QUERY = {}
const NO_PARAMS = {}
const isThisMachine = addressMatcher(['127.0.0.0/8', '::1'].flatMap((text) => parseCidr(text) ?? []))

/** Turns HTTP requests into gate requests and replies into responses. Only this folder knows the framework. */
export async function startHttp<Services>(options: HttpOptions<Services>): Promise<HttpServer> {
  const { gate, routes, log } = options
  const cors = createCors(options.corsOrigins)
  const observe = observeRoutes(options.metrics)
  const unrouted = observe('none')
  const pages = pagesOf(options)
  const methodsOf = methodFinder([
    ...routes,
    ...[...pages.keys(), ...(options.dashboard === undefined ? [] : SITE_PAGES)].map((path) => ({
      method: 'GET',
      path,
    })),
    ...(options.mcp === undefined ? [] : [{ method: 'POST', path: MCP_PATH }]),
  ])
  const paths = [...new Set(routes.map((route) => route.path))]
  const nextId = requestIds()
  const isTrustedProxy = addressMatcher(options.trustedProxies.flatMap((text) => parseCidr(text) ?? []))

  const finish = (
    request: FastifyRequest,
    reply: FastifyReply,
    id: string,
    answer: GateReply,
    vary: Vary = VARY.open,
  ) => {
    reply.hijack()
    return sendReply(request, reply.raw, answer, { requestId: id, cors, vary })
  }
  const fail = (request: FastifyRequest, reply: FastifyReply, error: ApiError) => {
    const id = nextId()
    unrouted(error.status, 0)
    return finish(request, reply, id, errorReply(error, id, request.headers.accept))
  }
  const app = createApp(
    options,
    {
      onBadUrl: (request, reply) =>
        fail(request, reply, new ApiError('not_found', 'The path is not readable.')),
      onClientError: (error, socket) =>
        answerClientError(error, socket, nextId(), readers.isInAnswer(socket)),
    },
    isTrustedProxy,
  )
  app.addHook('onRequest', (request, reply, next) => {
    const fault = hostFault(request.raw)
    if (fault === undefined) {
      next()
      return
    }
    const id = nextId()
    unrouted(400, 0)
    reply.hijack()
    reply.raw.shouldKeepAlive = false
    const { status, headers, body } = clientErrorReply(400, fault, id)
    const length = String(Buffer.byteLength(body))
    reply.raw.writeHead(status, [...headers, 'Content-Length', length, 'X-Request-Id', id]).end(body)
  })

  const fastHandlers = { GET: new Map<string, FastHandler>(), POST: new Map<string, FastHandler>() }
  const bodyLimits = new Map<string, number>()
  for (const route of routes) {
    const bodyLimit = limitOf(route, options.bodyLimitBytes)
    const serve = routeServer(route, { gate, nextId, cors, log, observe: observe(route.name) })
    app.route({
      method: route.method === 'GET' ? ['GET', 'HEAD'] : route.method,
      url: route.path.replace(/\{([^}]+)\}/g, ':$1'),
      bodyLimit,
      handler: (request, reply) => {
        reply.hijack()
        serve(
          {
            method: request.method,
            target: request.raw.url ?? '/',
            pathParams: request.params as Record<string, string>,
            headers: request.headers,
            address: requestAddress(request),
            body: request.body as Buffer | undefined,
            socket: request.raw.socket,
          },
          reply.raw,
        )
      },
    })
    if ((route.method === 'GET' || route.method === 'POST') && !route.path.includes('{')) {
      bodyLimits.set(route.path, Math.max(bodyLimit, bodyLimits.get(route.path) ?? 0))
      fastHandlers[route.method].set(
        route.path,
        ({ method, target, headers }, body, { socket, response }) => {
          const address = callerAddress(headers, socket, isTrustedProxy)
          serve({ method, target, pathParams: NO_PARAMS, headers, address, body, socket }, response)
        },
      )
    }
  }

  for (const [path, page] of pages) {
    app.route({
      method: ['GET', 'HEAD'],
      url: path,
      handler: async (request, reply) => {
        const id = nextId()
        await finish(
          request,
          reply,
          id,
          await page(request, id),
          path === '/metrics' ? VARY.token : VARY.open,
        )
      },
    })
  }
  if (options.dashboard !== undefined) addDashboard(app, options.dashboard, { nextId, unread: gate.unread })
  if (options.mcp !== undefined) {
    const observeMcp = observe(`POST ${MCP_PATH}`)
    addMcp(app, { ...options.mcp, endpointGate: gate, routes, cors, nextId, log, observe: observeMcp })
  }
  const noRoute = (request: FastifyRequest) => {
    const { path } = splitTarget(request.raw.url)
    return notFoundError(request.method, path, { methodsOf, paths, withdrawn: options.withdrawn })
  }
  app.setNotFoundHandler(async (request, reply) => {
    const methods = methodsOf(splitTarget(request.raw.url).path)
    if (request.method === 'OPTIONS' && methods.length > 0) {
      const headers = cors.preflight(request.headers, methods)
      reply.hijack()
      reply.raw.writeHead(204, [...headers, 'X-Request-Id', nextId()])
      reply.raw.end()
      return
    }
    await fail(request, reply, noRoute(request))
  })
  app.setErrorHandler(async (error, request, reply) => {
    await fail(request, reply, request.is404 ? noRoute(request) : frameworkError(error, log))
  })
  const streams =
    options.stream && acceptStreams(app.server, { ...options.stream, log, nextId, isTrustedProxy })
  // Node's parser drops the bytes after a request with an Upgrade header, so its connection is closed.
  app.server.prependListener('request', (request, response) => {
    if (request.headers.upgrade !== undefined) response.shouldKeepAlive = false
  })
  // An unknown expectation may be ignored. Node itself would answer it without limits and not in our format.
  app.server.on('checkExpectation', (request, response) => app.server.emit('request', request, response))
  const keepAliveMs = options.keepAliveMs ?? KEEP_ALIVE_MS
  const readers = keepHalfClosedReaders(app.server, keepAliveMs)
  boundDropped(app.server)
  boundPipelines(app.server, parseInTurns(app.server))
  const fastHttp = openFastHttp(app.server, {
    find: (method, path, bodyBytes) =>
      bodyBytes <= (bodyLimits.get(path) ?? 0) ? fastHandlers[method].get(path) : undefined,
    maxBodyBytes: options.bodyLimitBytes,
    keepAliveMs,
    now: systemClock.now,
  })
  boundConnections(app.server, { log, isProxy: (peer) => isTrustedProxy(peer) || isThisMachine(peer) })
  const isSecure = options.certificate !== undefined
  const bound = options.bound ?? (await bindPort({ ...options, isSecure }))
  await app.ready()
  await bound.handOver(app.server)
  const metricsServer = await startMetricsServer(options)
  return {
    url: bound.url,
    metricsUrl: metricsServer?.url ?? null,
    close: async (graceMs) => {
      await streams?.close()
      await closeWithin(app, fastHttp, graceMs)
      await metricsServer?.close()
    },
  }
}

/** A keep-alive connection becomes idle only after its last answer, so idle connections are closed repeatedly. */
async function closeWithin(app: FastifyInstance, fastHttp: FastHttp, graceMs: number): Promise<void> {
  fastHttp.close()
  const sweep = setInterval(() => app.server.closeIdleConnections(), IDLE_SWEEP_MS)
  const cut = setTimeout(() => {
    fastHttp.cut()
    app.server.closeAllConnections()
  }, graceMs)
  try {
    await app.close()
  } finally {
    clearInterval(sweep)
    clearTimeout(cut)
  }
}

type Page = (request: FastifyRequest, id: string) => GateReply | Promise<GateReply>

/** Pages other than the declared endpoints: the guide, the public pages and the metrics. */
function pagesOf<Services>(options: HttpOptions<Services>): Map<string, Page> {
  const pages = new Map<string, Page>(options.pages.map((page) => [page.path, () => publicReply(page)]))
  pages.set('/metrics', (request, id) => metricsReply(request.headers, id, options))
  pages.set(WEBSOCKET_PATH, (request, id) => errorReply(upgradeRequired(), id, request.headers.accept))
  return pages
}

function upgradeRequired(): ApiError {
  const text = 'This is the stream: connect with a WebSocket client. GET /asyncapi.json describes it.'
  return new ApiError('upgrade_required', text, {}, [
    ['Upgrade', 'websocket'],
    ['Sec-WebSocket-Version', WEBSOCKET_VERSION],
  ])
}

function createApp<Services>(
  options: HttpOptions<Services>,
  faults: {
    onBadUrl: (request: FastifyRequest, reply: FastifyReply) => void | Promise<void>
    onClientError: (error: Error, socket: Socket) => void
  },
  isTrustedProxy: (address: string) => boolean,
): FastifyInstance {
  const requestTimeout = options.requestTimeoutMs ?? REQUEST_TIMEOUT_MS
  const nodeOptions = {
    // We refuse requests without a Host ourselves, in our own format (`one-host.ts`).
    requireHostHeader: false,
    requestTimeout,
    // Node applies the longer of the two to the whole request, and the default of this one is a minute.
    headersTimeout: requestTimeout,
    connectionsCheckingInterval: REQUEST_CHECK_MS,
  }
  const app = Fastify({
    logger: false,
    bodyLimit: Math.min(MAX_REQUEST_BODY_BYTES, options.bodyLimitBytes),
    trustProxy: options.trustedProxies.length === 0 ? false : (address) => isTrustedProxy(address),
    exposeHeadRoutes: false,
    forceCloseConnections: 'idle',
    keepAliveTimeout: options.keepAliveMs ?? KEEP_ALIVE_MS,
    requestTimeout,
    return503OnClosing: false,
    // The gate parses the query itself, with errors for the caller.
    routerOptions: { maxParamLength: 512, querystringParser: () => NO_QUERY },
    frameworkErrors: (_error, request, reply) => faults.onBadUrl(request, reply),
    clientErrorHandler: faults.onClientError,
    ...(options.certificate === undefined
      ? { http: nodeOptions }
      : { https: { ...TLS, ...nodeOptions, ...options.certificate.pair } }),
  })
  if (options.certificate !== undefined) serveWith(options.certificate, app.server as unknown as SecureServer)
  app.removeAllContentTypeParsers()
  const memory = createBodyMemory({
    bodyLimitBytes: options.bodyLimitBytes,
    isProxy: (address) => isTrustedProxy(address) || isThisMachine(address),
  })
  // The usual type is listed explicitly, so that it is found without parsing it for each request.
  app.addContentTypeParser(['application/json', '*'], (request: FastifyRequest, payload: Readable) => {
    const { bodyLimit } = request.routeOptions
    const declared = Number(request.headers['content-length'] ?? 0)
    return collectBody(payload, bodyLimit, declared, memory.roomFor(requestAddress(request)))
  })
  return app
}

function serveWith(certificate: Certificate, server: SecureServer): void {
  certificate.onChange((pair) => server.setSecureContext({ ...TLS, ...pair }))
  // Nobody can be answered, because the handshake failed or was not a handshake.
  server.removeAllListeners('tlsClientError')
  server.on('tlsClientError', (_error, socket) => socket.destroy())
}

/** Most bodies are short; if the plan decides, the operator's limit applies. */
function limitOf<Services>({ endpoint }: PublishedRoute<Services>, bodyLimitBytes: number): number {
  return endpoint.body?.maxBytes === undefined
    ? Math.min(MAX_REQUEST_BODY_BYTES, bodyLimitBytes)
    : bodyLimitBytes
}

/** Errors of the framework before a route runs. */
function frameworkError(error: unknown, log: Logger): ApiError {
  if (error instanceof ApiError) return error
  const { statusCode } = error as { statusCode?: number }
  if (statusCode === 415) {
    return new ApiError('unsupported_media_type', 'The Content-Type of the body is not readable.')
  }
  if (statusCode !== undefined && statusCode >= 400 && statusCode < 500) {
    return new ApiError('invalid_param', 'The request could not be read.')
  }
  log.error({ err: error }, 'a request failed outside the gate')
  return new ApiError('internal_error', 'Something went wrong on our side.')
}

/** Metrics on a separate port, on the loopback address only. */
async function startMetricsServer<Services>(options: HttpOptions<Services>) {
  const { metricsPort, metrics } = options
  if (metricsPort === null) return undefined
  // Collecting asks every part of the service, so concurrent requests share one collection.
  let collecting: Promise<string> | undefined
  const collect = () => {
    collecting ??= metrics.registry.metrics().finally(() => {
      collecting = undefined
    })
    return collecting
  }
  const server = createServer(async (request, response) => {
    if (request.url !== '/metrics') {
      response.writeHead(404).end()
      return
    }
    try {
      const text = await collect()
      response.writeHead(200, { 'Content-Type': metrics.registry.contentType }).end(text)
    } catch (error) {
      options.log.error({ err: error }, 'the metrics could not be collected')
      response.destroy()
    }
  })
  server.maxConnections = MAX_METRICS_CONNECTIONS
  ignoreConnectionErrors(server)
  await new Promise<void>((resolve, reject) => {
    // An error about a port that is in use names the setting.
    const fail = (error: Error) => reject(Object.assign(error, { setting: 'TAPELINE_METRICS_PORT' }))
    server.once('error', fail)
    server.listen(metricsPort, '127.0.0.1', () => {
      server.off('error', fail)
      logAcceptErrors(server, options.log)
      resolve()
    })
  })
  const address = server.address()
  const port = typeof address === 'object' && address !== null ? address.port : metricsPort
  return {
    url: `http://127.0.0.1:${port}/metrics`,
    close: () =>
      new Promise<void>((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}
