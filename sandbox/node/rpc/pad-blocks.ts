/** Makes a getBlocks answer as large as the real ones get, by repeating its blocks. */
export function padBlocks(frame: string, wantedBytes: number): string {
  const marker = '"blocks":['
  const at = frame.indexOf(marker)
  if (at < 0 || frame.length >= wantedBytes) return frame
  const from = at + marker.length
  const end = frame.lastIndexOf(']')
  const blocks = frame.slice(from, end)
  if (blocks.length === 0) return frame
  const times = Math.ceil((wantedBytes - frame.length) / (blocks.length + 1))
  return `${frame.slice(0, from)}${`${blocks},`.repeat(times)}${blocks}${frame.slice(end)}`
}
