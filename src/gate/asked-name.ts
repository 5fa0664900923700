import type { Params } from '../contract/params.ts'
import { ApiError } from '../core/errors.ts'

/** Rewrites an error about a parameter that the caller gave under an alias, so that it names the alias. */
export function underAskedName(error: ApiError, params: Params, search: string): ApiError {
  const { param } = error.detail
  if (param === undefined) return error
  const others = Object.keys(params).filter((name) => params[name]?.insteadOf === param)
  if (others.length === 0) return error
  const query = new URLSearchParams(search)
  const asked = query.has(param) ? undefined : others.find((name) => query.has(name))
  if (asked === undefined) return error
  const message = error.message.startsWith(`${param} `)
    ? asked + error.message.slice(param.length)
    : error.message
  return new ApiError(error.kind, message, { ...error.detail, param: asked }, error.headers)
}
