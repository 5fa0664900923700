import type { Alias, AnyEndpoint, Method } from '../contract/endpoint.ts'
import type { Params } from '../contract/params.ts'

/** Every path that the service answers: each endpoint's own and its aliases. */
export interface PublishedRoute<Services> {
  readonly method: Method
  readonly path: string
  readonly endpoint: AnyEndpoint<Services>
  readonly bound: Alias['bound']
  readonly summary: string
  /** The endpoint's parameters, as this path reads them. */
  readonly params: Params
  /** What usage and ledger call it: the endpoint, whichever path was asked. */
  readonly name: string
}

export function routesOf<Services>(endpoints: readonly AnyEndpoint<Services>[]): PublishedRoute<Services>[] {
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
    return [own, ...aliases].map((route) => ({ ...route, endpoint, name }))
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
