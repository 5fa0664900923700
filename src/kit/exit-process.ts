/**
 * Ends the process at once. `process.exit` waits for the thread pool, where a DNS lookup takes many seconds if no name
 * server answers, and cannot be cancelled. Therefore the process is replaced by a shell that only returns the exit
 * code. Call it once everything is closed.
 */
export function exitProcess(code: number): never {
  try {
    process.execve?.('/bin/sh', ['sh', '-c', `exit ${code}`], {})
  } catch {
    // Not available on this system.
  }
  process.exit(code)
}
