/** The interpreters for tests of the Python client: the machine's, and one with the libraries for data frames. */
import { spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { homedir } from 'node:os'
import { join } from 'node:path'

/** `.ci/run` makes it. */
const MADE = join(process.env.XDG_CACHE_HOME ?? join(homedir(), '.cache'), 'tapeline/python/bin/python')

export const PYTHON = 'python3'
/** With pandas, polars and pyarrow. */
export const FULL_PYTHON = process.env.TAPELINE_PYTHON ?? (existsSync(MADE) ? MADE : PYTHON)

const OLDEST = 'import sys; assert sys.version_info >= (3, 10)'
const succeeds = (python: string, program: string) => spawnSync(python, ['-c', program]).status === 0

export const SKIP_PYTHON = succeeds(PYTHON, OLDEST) ? false : 'python3 (3.10 or newer) is not installed'
export const SKIP_FRAMES =
  SKIP_PYTHON ||
  (succeeds(FULL_PYTHON, `${OLDEST}\nimport pandas, polars, pyarrow`)
    ? false
    : 'pandas, polars and pyarrow are not installed (.ci/run installs them; TAPELINE_PYTHON names an interpreter)')
