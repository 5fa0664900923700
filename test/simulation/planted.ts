/**
 * Loaded before everything else (`node --import`) in a process that searches for a planted defect: changes the source
 * of the files that contain the defect when they are loaded. The files on disk are not changed.
 */
import { registerHooks } from 'node:module'
import { PLANTS } from './plants.ts'

const plant = PLANTS.find(({ name }) => name === process.env.TAPELINE_PLANT)
if (plant === undefined) throw new RangeError('TAPELINE_PLANT names no planted defect')
const root = new URL('../../', import.meta.url)
const editsOf = Map.groupBy(plant.edits, ({ file }) => new URL(file, root).href)
const left = new Set(editsOf.keys())

registerHooks({
  load(url, context, next) {
    const loaded = next(url, context)
    const edits = editsOf.get(url)
    if (edits === undefined) return loaded
    left.delete(url)
    let source = Buffer.from(loaded.source as Uint8Array).toString('utf8')
    for (const { find, replace } of edits) {
      if (source.split(find).length !== 2) throw new Error(`the place of "${plant.name}" is not in ${url}`)
      source = source.replace(find, () => replace)
    }
    return { ...loaded, source }
  },
})
process.on('exit', () => {
  // A defect in a file that is never loaded would stay unfound for the wrong reason.
  if (left.size > 0 && process.exitCode !== 1) process.exitCode = 3
})
