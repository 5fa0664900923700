import type { Cost } from '../../contract/costs.ts'
import type { Alias, AnyEndpoint, HttpMethod } from '../../contract/endpoint.ts'
import type { Params } from '../../contract/params.ts'

/** A path of the service: an endpoint's own or an alias. */
export interface PublishedRoute<Services> {
  readonly method: HttpMethod
  readonly path: string
  readonly endpoint: AnyEndpoint<Services>
  readonly bound: Alias['bound']
  readonly summary: string
  /** The endpoint's parameters, as this path reads them. */
  readonly params: Params
  /** The prices that can occur on this path. */
  readonly cost: Cost
  /** Its name in usage and ledger: the endpoint's, whichever path was requested. */
  readonly name: string
}

export function publishedRoutes<Services>(
  endpoints: readonly AnyEndpoint<Services>[],
): PublishedRoute<Services>[] {
  return endpoints.flatMap((endpoint) => {
    const name = `${endpoint.method} ${endpoint.path}`
    const own = {
      method: endpoint.method,
      path: endpoint.path,
      bound: {},
      summary: endpoint.doc.summary,
      params: endpoint.params,
    }
    const aliases = endpoint.aliases.map((alias) => ({
      method: alias.method,
      path: alias.path,
      bound: alias.bound,
      summary: alias.summary ?? endpoint.doc.summary,
      params: { ...endpoint.params, ...alias.params },
    }))
    return [own, ...aliases].map((route) => ({
      ...route,
      endpoint,
      name,
      cost: endpoint.cost.given(route.bound),
    }))
  })
}

export function pathParamsOf(path: string): string[] {
  return [...path.matchAll(/\{([^}]+)\}/g)].map((match) => match[1] ?? '')
}

/** Which methods a concrete path has, for 405 with `Allow`. A static segment wins over a parameter. */
export function methodFinder(routes: readonly { method: string; path: string }[]) {
  const patterns = routes.map(({ method, path }) => ({
    method,
    pattern: new RegExp(`^${path.replace(/[.*+?^$()|[\]\\]/g, '\\$&').replace(/\{[^}]+\}/g, '[^/]+')}$`),
  }))
  return (path: string): string[] => {
    const methods = patterns.filter(({ pattern }) => pattern.test(path)).map(({ method }) => method)
    return methods.includes('GET')
      ? [...methods, 'HEAD', 'OPTIONS']
      : methods.length > 0
        ? [...methods, 'OPTIONS']
        : []
  }
}

/**
 * The route of a concrete path and the values of its parameters. A static segment wins over a parameter;
 * `{name*}` matches the rest of a path.
 */
export function routeFinder<R extends { method: string; path: string }>(routes: readonly R[]) {
  const patterns = routes
    .map((route) => ({
      route,
      names: pathParamsOf(route.path).map((name) => name.replace('*', '')),
      pattern: new RegExp(
        `^${route.path
          .replace(/[.*+?^$()|[\]\\]/g, '\\$&')
          .replace(/\{[^}]+\\\*\}/g, '(.+)')
          .replace(/\{[^}]+\}/g, '([^/]+)')}$`,
      ),
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
