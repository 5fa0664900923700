/**
 * Traces with the OpenTelemetry SDK, sent over OTLP/HTTP. Loaded only if an endpoint is set. The SDK also reads its own
 * variables: OTEL_SERVICE_NAME, OTEL_RESOURCE_ATTRIBUTES, OTEL_TRACES_SAMPLER, OTEL_EXPORTER_OTLP_HEADERS, …
 */
import { AsyncLocalStorage } from 'node:async_hooks'
import {
  type Attributes,
  type Context,
  DiagLogLevel,
  defaultTextMapGetter,
  diag,
  ROOT_CONTEXT,
  type Span,
  SpanKind,
  SpanStatusCode,
  trace,
} from '@opentelemetry/api'
import { W3CTraceContextPropagator } from '@opentelemetry/core'
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http'
import { detectResources, envDetector, resourceFromAttributes } from '@opentelemetry/resources'
import { BasicTracerProvider, BatchSpanProcessor } from '@opentelemetry/sdk-trace-base'
import type { Clock } from '../kit/clock.ts'
import type { Logger } from '../kit/log.ts'
import type { SpanOptions, Tracing } from '../kit/tracing.ts'

const KINDS = { server: SpanKind.SERVER, client: SpanKind.CLIENT, internal: SpanKind.INTERNAL }
/** An unreachable collector fails several times a minute. */
const WARN_EVERY_MS = 60_000

export function openTelemetry(
  endpoint: string,
  { version, clock, log }: { version: string; clock: Clock; log: Logger },
): Tracing {
  reportFailures(clock, log)
  const exporter = new OTLPTraceExporter({ url: `${endpoint.replace(/\/+$/, '')}/v1/traces` })
  const provider = new BasicTracerProvider({
    resource: resourceFromAttributes({ 'service.name': 'tapeline', 'service.version': version }).merge(
      detectResources({ detectors: [envDetector] }),
    ),
    // Its queue is bounded, and spans that do not fit are dropped.
    spanProcessors: [new BatchSpanProcessor(exporter)],
  })
  const tracer = provider.getTracer('tapeline', version)
  const propagator = new W3CTraceContextPropagator()
  const active = new AsyncLocalStorage<Context>()

  return {
    span(name, options, work) {
      const inside = active.getStore()
      if (inside === undefined && options.onlyInside === true) return work()
      const parent =
        inside ??
        (options.headers === undefined
          ? ROOT_CONTEXT
          : propagator.extract(ROOT_CONTEXT, options.headers, defaultTextMapGetter))
      const attributes = known(options.attributes)
      const span = tracer.startSpan(name, { kind: KINDS[options.kind], attributes }, parent)
      try {
        const result = active.run(trace.setSpan(parent, span), work)
        if (!(result instanceof Promise)) return end(span, options, result)
        return result.then(
          (value) => end(span, options, value),
          (error: unknown) => fail(span, error),
        )
      } catch (error) {
        return fail(span, error)
      }
    },
    close: () => provider.shutdown(),
  }
}

function end<R>(span: Span, { ended }: SpanOptions<R>, result: R): R {
  const { attributes, error } = ended?.(result) ?? {}
  span.setAttributes(known(attributes))
  if (error !== undefined) span.setStatus({ code: SpanStatusCode.ERROR, message: error })
  span.end()
  return result
}

function fail(span: Span, error: unknown): never {
  span.recordException(error instanceof Error ? error : String(error))
  span.setStatus({ code: SpanStatusCode.ERROR })
  span.end()
  throw error
}

function known(attributes: SpanOptions<never>['attributes'] = {}): Attributes {
  return Object.fromEntries(Object.entries(attributes).filter(([, value]) => value !== undefined))
}

function reportFailures(clock: Clock, log: Logger): void {
  let warnedAtMs = Number.NEGATIVE_INFINITY
  const warn = (detail: string) => {
    if (clock.now() - warnedAtMs < WARN_EVERY_MS) return
    warnedAtMs = clock.now()
    log.warn({ detail }, 'traces could not be sent')
  }
  const nothing = () => {}
  diag.setLogger(
    { error: warn, warn, info: nothing, debug: nothing, verbose: nothing },
    { logLevel: DiagLogLevel.WARN, suppressOverrideMessage: true },
  )
}
