import { ApiError } from '../../core/errors.ts'
import { nearest } from '../../core/nearest.ts'

/** The error for a path without a route: the allowed methods, the replacement, or the nearest path. */
export function notFoundError(
  method: string,
  path: string,
  known: {
    methodsOf: (path: string) => string[]
    paths: readonly string[]
    withdrawn: Readonly<Record<string, string>>
  },
): ApiError {
  const methods = known.methodsOf(path)
  if (methods.length > 0) {
    const allowed = methods.join(', ')
    return new ApiError(
      'method_not_allowed',
      `${method} is not allowed here. Allowed: ${allowed}.`,
      { allowed: methods },
      [['Allow', allowed]],
    )
  }
  const instead = known.withdrawn[path.replace(/\/$/, '')]
  if (instead !== undefined) {
    return new ApiError('not_found', `${path} is not part of this version. ${instead}`, {
      reason: 'withdrawn',
    })
  }
  const near = nearest(path.slice(0, 100), known.paths)
  const hint = near === undefined ? 'GET /openapi.json lists all paths.' : `Did you mean ${near}?`
  return new ApiError('not_found', `There is nothing at ${path.slice(0, 100)}. ${hint}`)
}
