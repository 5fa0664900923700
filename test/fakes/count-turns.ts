/** Counts the turns that the loop makes until the work is done. */
export async function countTurns<R>(
  work: () => Promise<R>,
): Promise<{ readonly turns: number; readonly result: R }> {
  let turns = 0
  let counting: NodeJS.Immediate
  const count = () => {
    turns++
    counting = setImmediate(count)
  }
  counting = setImmediate(count)
  try {
    const result = await work()
    return { turns, result }
  } finally {
    clearImmediate(counting)
  }
}
