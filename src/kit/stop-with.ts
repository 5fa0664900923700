/**
 * A controller that is aborted with a parent signal, for parts that end before the parent does and abort their own
 * controller then. Unlike `AbortSignal.any` its signal costs nothing to read and to wait for, which loops that look
 * several times a second would notice.
 */
export function stopWith(parent: AbortSignal): AbortController {
  const own = new AbortController()
  if (parent.aborted) {
    own.abort(parent.reason)
    return own
  }
  const onAbort = () => own.abort(parent.reason)
  parent.addEventListener('abort', onAbort, { once: true })
  own.signal.addEventListener('abort', () => parent.removeEventListener('abort', onAbort), { once: true })
  return own
}
