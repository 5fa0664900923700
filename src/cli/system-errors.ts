/** What a command prints instead of a stack trace if the cause is the machine and not the program. */
const NO_PERMISSION = 'Run it as the user of the service, or give that user the folder.'
const SENTENCES: Record<
  string,
  (error: NodeJS.ErrnoException & { address?: string; port?: number; setting?: string }) => string
> = {
  EADDRINUSE: ({ port, address, setting = 'TAPELINE_PORT' }) =>
    `The port ${port} on ${address} is taken. ${setting} sets another.`,
  EACCES: ({ path }) => `No permission for ${path}. ${NO_PERMISSION}`,
  EPERM: ({ path }) => `No permission for ${path}. ${NO_PERMISSION}`,
  EROFS: ({ path }) => `${path} is on a file system that cannot be written.`,
  ENOSPC: ({ path }) => `The disk${path === undefined ? '' : ` of ${path}`} is full.`,
}

/** Undefined for any other error, which needs its stack trace. */
export function systemErrorSentence(error: unknown): string | undefined {
  if (!(error instanceof Error)) return undefined
  const { code, path, syscall } = error as NodeJS.ErrnoException
  if (code === undefined || (path === undefined && syscall === undefined)) return undefined
  // A call without a path concerns something else.
  if (path === undefined && (code === 'EACCES' || code === 'EPERM' || code === 'EROFS')) return undefined
  return SENTENCES[code]?.(error)
}
