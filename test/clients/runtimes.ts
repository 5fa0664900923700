/** What the TypeScript client runs on besides browsers and the project's own Node; `.ci/run` installs it. */
import { existsSync } from 'node:fs'
import { homedir } from 'node:os'
import { join } from 'node:path'

/** `.ci/run` makes it. */
const FOLDER = join(
  process.env.XDG_CACHE_HOME ?? join(homedir(), '.cache'),
  'tapeline/runtimes/node_modules/.bin',
)

export const OTHER_RUNTIMES = [
  installed('Node 22', 'node', []),
  installed('Deno', 'deno', ['run', '--allow-all', '--node-modules-dir=manual', '--no-config']),
  installed('Bun', 'bun', []),
]

function installed(name: string, program: string, args: string[]) {
  const command = join(FOLDER, program)
  const skip = existsSync(command) ? false : `${name} is not installed (.ci/run installs it)`
  return { name, command, args, skip }
}
