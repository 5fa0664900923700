import type { AnyEndpoint } from '../../contract/endpoint.ts'
import { pathParamsOf, publishedRoutes } from './router.ts'

/** Refuses to start if a declaration is incomplete or contradicts another one. */
export function checkDeclarations<Services>(endpoints: readonly AnyEndpoint<Services>[]): void {
  const faults = endpoints.flatMap((endpoint) =>
    faultsOf(endpoint).map((fault) => `${endpoint.method} ${endpoint.path}: ${fault}`),
  )
  const seen = new Set<string>()
  for (const { method, path } of publishedRoutes(endpoints)) {
    const place = `${method} ${path.replace(/\{[^}]+\}/g, '{}')}`
    if (seen.has(place)) faults.push(`${method} ${path}: declared twice`)
    seen.add(place)
  }
  if (faults.length > 0) throw new Error(`incomplete declarations:\n  ${faults.join('\n  ')}`)
}

function faultsOf<Services>(endpoint: AnyEndpoint<Services>): string[] {
  const faults: string[] = []
  const need = (ok: boolean, fault: string) => void (ok || faults.push(fault))
  const { doc, access, cost, params, returns } = endpoint
  need(endpoint.path.startsWith('/'), 'the path must start with /')
  need(doc.summary.trim() !== '', 'no summary')
  need(access.auth === 'key' || cost.describe() === '0 flat', 'an open endpoint cannot cost credits')
  need(
    [cost.base, ...Object.values(cost.prices)].every(isPrice),
    'a price is not a whole number of 0 or more',
  )
  for (const [name, param] of Object.entries(params)) {
    need(param.description.trim() !== '', `parameter ${name} has no description`)
    need(
      param.fallback === undefined || !(param.required as boolean),
      `parameter ${name} is required and has a default`,
    )
  }
  for (const route of publishedRoutes([endpoint])) {
    for (const name of pathParamsOf(route.path)) {
      need(Object.hasOwn(params, name), `${route.path} has {${name}}, which is not declared`)
    }
    const declared = Object.keys(route.params)
    for (const [name, { insteadOf }] of Object.entries(route.params)) {
      need(
        insteadOf === undefined || declared.slice(0, declared.indexOf(name)).includes(insteadOf),
        `${route.path} has ${name} instead of ${insteadOf}, which is not declared before it`,
      )
    }
    for (const name of Object.keys(route.bound)) {
      need(Object.hasOwn(params, name), `${route.path} binds ${name}, which is not declared`)
    }
  }
  const schemas = returns.kind === 'list' ? [returns.row, returns.envelope?.schema] : [returns.schema]
  for (const path of schemas.flatMap((schema) => undescribed(schema))) {
    need(false, `field ${path} of ${returns.name} has no description`)
  }
  if (access.history !== undefined) {
    need(
      ('start' in params && 'end' in params) || 'time' in params,
      'a history gate needs start and end, or time',
    )
  }
  if (access.intervalGate !== undefined)
    need(access.intervalGate in params, 'intervalGate names no parameter')
  return faults
}

function isPrice(value: number): boolean {
  return Number.isSafeInteger(value) && value >= 0
}

/** The fields without a description; every leaf field of an answer needs one. */
function undescribed(schema: unknown, path = ''): string[] {
  if (typeof schema !== 'object' || schema === null) return []
  const { properties, anyOf, items } = schema as {
    properties?: Record<string, Record<string, unknown>>
    anyOf?: unknown[]
    items?: unknown
  }
  const inner = Object.entries(properties ?? {}).flatMap(([name, field]) => {
    const here = path === '' ? name : `${path}.${name}`
    const missing = field.description === undefined && field.properties === undefined ? [here] : []
    return [...missing, ...undescribed(field, here)]
  })
  return [
    ...inner,
    ...(anyOf ?? []).flatMap((shape) => undescribed(shape, path)),
    ...undescribed(items, path),
  ]
}
