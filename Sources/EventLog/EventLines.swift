import Glibc

/// The lines of a batch's body: one event each.
enum EventLines {
    /// Checks a body before it is appended.
    static func check(_ body: UnsafeRawBufferPointer, count: Int) throws(EventLogError) {
        let (batchMax, eventMax) = (EventLogLimits.batchBytesMax, EventLogLimits.eventBytesMax)
        guard body.count <= batchMax else { throw .tooLarge("the batch", bytes: body.count, bytesMax: batchMax) }
        var (lines, longest, start) = (0, 0, 0)
        while let end = unsafe end(ofLineAt: start, in: body) {
            lines += 1
            longest = max(longest, end - start)
            start = end
        }
        precondition(
            lines == count && start == body.count,
            "a batch of \(count) events has \(lines) lines that end with a line feed, and \(body.count - start) bytes "
                + "after the last line feed")
        guard longest <= eventMax else { throw .tooLarge("an event", bytes: longest, bytesMax: eventMax) }
    }

    /// The offset after the line that begins at `start`; nil if no line feed follows.
    static func end(ofLineAt start: Int, in body: UnsafeRawBufferPointer) -> Int? {
        guard start < body.count, let base = body.baseAddress,
            let hit = unsafe memchr(base + start, CInt(UInt8(ascii: "\n")), body.count - start)
        else { return nil }
        return unsafe base.distance(to: hit) + 1
    }
}
