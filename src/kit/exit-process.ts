/**
 * Ends the process at once. `process.exit` waits for the thread pool, and a DNS lookup takes many seconds when no name
 * server answers and cannot be cancelled. Called when everything is closed: the process is replaced by one that only
 * returns the exit code.
 */
export function exitProcess(code: number): never {
  try {
    process.execve?.('/bin/sh', ['sh', '-c', `exit ${code}`], {})
  } catch {
    // Not available on this system.
  }
  process.exit(code)
}
