import type { Cost } from '../../contract/costs.ts'
import type { Alias, AnyEndpoint, EndpointRoute } from '../../contract/endpoint.ts'

export interface PublishedRoute<Services> extends EndpointRoute<Services> {
  readonly summary: string
  /** The prices that can occur on this path. */
  readonly cost: Cost
}

export function publishedRoutes<Services>(
  endpoints: readonly AnyEndpoint<Services>[],
): PublishedRoute<Services>[] {
  return endpoints.flatMap((endpoint) => {
    const own: Alias = { method: endpoint.method, path: endpoint.path, bound: {} }
    return [own, ...endpoint.aliases].map(({ method, path, bound, summary, params }) => ({
      method,
      path,
      bound,
      summary: summary ?? endpoint.doc.summary,
      params: { ...endpoint.params, ...params },
      endpoint,
      name: `${endpoint.method} ${endpoint.path}`,
      cost: endpoint.cost.given(bound),
    }))
  })
}

export function pathParamsOf(path: string): string[] {
  return [...path.matchAll(/\{([^}]+)\}/g)].map((match) => match[1] ?? '')
}

/** Matches concrete paths; `{name*}` matches the rest of a path. */
function patternOf(path: string): RegExp {
  const source = path
    .replace(/[.*+?^$()|[\]\\]/g, '\\$&')
    .replace(/\{[^}]+\\\*\}/g, '(.+)')
    .replace(/\{[^}]+\}/g, '([^/]+)')
  return new RegExp(`^${source}$`)
}

/** The methods that a concrete path has, for 405 with `Allow`. */
export function methodFinder(routes: readonly { method: string; path: string }[]) {
  const patterns = routes.map(({ method, path }) => ({ method, pattern: patternOf(path) }))
  return (path: string): string[] => {
    const methods = patterns.filter(({ pattern }) => pattern.test(path)).map(({ method }) => method)
    if (methods.length === 0) return []
    return [...methods, ...(methods.includes('GET') ? ['HEAD'] : []), 'OPTIONS']
  }
}

/**
 * The route of a concrete path and the values of its parameters. A static segment takes precedence over a parameter.
 */
export function routeFinder<R extends { method: string; path: string }>(routes: readonly R[]) {
  const patterns = routes
    .map((route) => ({
      route,
      names: pathParamsOf(route.path).map((name) => name.replace('*', '')),
      pattern: patternOf(route.path),
    }))
    .sort((a, b) => a.names.length - b.names.length)
  return (method: string, path: string): { route: R; params: Record<string, string> } | undefined => {
    for (const { route, names, pattern } of patterns) {
      const match = route.method === method ? pattern.exec(path) : null
      if (match === null) continue
      const values = match.slice(1).map(decode)
      if (values.includes(undefined)) continue
      return { route, params: Object.fromEntries(names.map((name, index) => [name, values[index] ?? ''])) }
    }
    return undefined
  }
}

function decode(text: string): string | undefined {
  try {
    return decodeURIComponent(text)
  } catch {
    return undefined
  }
}
