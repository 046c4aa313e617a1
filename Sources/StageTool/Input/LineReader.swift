import Glibc

/// Reads the lines of several inputs, one after the other, without blocking.
///
/// Skips blank lines. A line longer than ``lineBytesMax`` is not kept in memory.
package final class LineReader {
    /// Consecutive lines of one input, each ended by a line feed.
    package struct Block {
        package var source: String
        /// The number of the first line, counted from 1.
        package var firstLine: UInt64
        package var count = 0
        package var bytes: [UInt8] = []
        /// The length of a line that is too long to send. This line is the only line of its block, and `bytes` is
        /// empty. Nil for any other block.
        package var tooLong: Int?
        /// Whether the block is a ``restartLine``. Such a block has no lines.
        package var isRestart = false
    }

    /// Makes `belfry run` stop all stages and start them again.
    package static let restartLine = #"{"type":"restart"}"#

    /// The most bytes of a line that can be sent to the door. The door itself has lower limits (``DoorLimits``).
    package static let lineBytesMax = 4 << 20
    package static let blockLinesMax = 1_000
    /// A block of several lines has at most this many bytes, without its last line feed. A longer line is a block of
    /// its own.
    package static let blockBytesMax = 256 << 10

    private let recognizesRestarts: Bool
    private var sources: ArraySlice<InputSource>
    private var current: (source: InputSource, descriptor: Int32)?
    private var line: UInt64 = 0
    private var partial: [UInt8] = []
    private var partialBytes = 0
    private var buffer = [UInt8](repeating: 0, count: 64 << 10)
    private var blocks: [Block] = []

    /// - Parameter recognizesRestarts: Whether ``restartLine`` makes a block of its own. Otherwise it is sent to the
    ///   door as any other line.
    package init(_ sources: [InputSource], recognizesRestarts: Bool = false) {
        self.sources = sources[...]
        self.recognizesRestarts = recognizesRestarts
    }

    deinit { closeCurrent() }

    package var isAtEnd: Bool { current == nil && sources.isEmpty && blocks.isEmpty }

    /// The descriptor to wait for; nil if ``next()`` need not wait, or all inputs are read.
    package var awaitedDescriptor: Int32? {
        guard blocks.isEmpty, let current, !isReady(current.descriptor) else { return nil }
        return current.descriptor
    }

    /// The next lines; nil if no line is ready yet, or all inputs are read.
    package func next() throws(ToolFailure) -> Block? {
        while blocks.isEmpty {
            guard try openNext(), let current, isReady(current.descriptor) else { return nil }
            try read(current.source, current.descriptor)
        }
        return blocks.removeFirst()
    }

    private func openNext() throws(ToolFailure) -> Bool {
        if current != nil { return true }
        guard let source = sources.popFirst() else { return false }
        current = (source, try source.open(isPolled: true))
        line = 0
        return true
    }

    private func isReady(_ descriptor: Int32) -> Bool {
        var item = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
        return poll(&item, 1, 0) > 0
    }

    private func read(_ source: InputSource, _ descriptor: Int32) throws(ToolFailure) {
        let count = Glibc.read(descriptor, &buffer, buffer.count)
        if count < 0, errno == EINTR || errno == EAGAIN { return }
        guard count >= 0 else { throw ToolFailure(.noInput, InputSource.cannotReadMessage(source.name, errno)) }
        guard count > 0 else { return endInput(source) }
        var start = 0
        while let end = buffer[start..<count].firstIndex(of: UInt8(ascii: "\n")) {
            extend(start..<end)
            endLine(of: source)
            start = end + 1
        }
        extend(start..<count)
    }

    private func endInput(_ source: InputSource) {
        if partialBytes > 0 { endLine(of: source) }
        closeCurrent()
    }

    private func closeCurrent() {
        if let current, !current.source.isStandardInput { close(current.descriptor) }
        current = nil
    }

    private func extend(_ range: Range<Int>) {
        partialBytes += range.count
        if partialBytes <= LineReader.lineBytesMax { partial += buffer[range] } else { partial = [] }
    }

    private func endLine(of source: InputSource) {
        line += 1
        defer { (partial, partialBytes) = ([], 0) }
        guard partialBytes <= LineReader.lineBytesMax else {
            return blocks.append(Block(source: source.name, firstLine: line, count: 1, tooLong: partialBytes))
        }
        guard !partial.allSatisfy({ $0 == 0x20 || $0 == 0x09 || $0 == 0x0D }) else { return }
        guard !recognizesRestarts || !isRestartLine else {
            return blocks.append(Block(source: source.name, firstLine: line, isRestart: true))
        }
        if !continuesBlock(source) { blocks.append(Block(source: source.name, firstLine: line)) }
        blocks[blocks.count - 1].bytes += partial
        blocks[blocks.count - 1].bytes.append(UInt8(ascii: "\n"))
        blocks[blocks.count - 1].count += 1
    }

    private var isRestartLine: Bool {
        partialBytes < 64 && partial.filter { $0 > 0x20 }.elementsEqual(LineReader.restartLine.utf8)
    }

    private func continuesBlock(_ source: InputSource) -> Bool {
        guard let block = blocks.last, block.tooLong == nil, block.source == source.name else { return false }
        return block.firstLine + UInt64(block.count) == line && block.count < LineReader.blockLinesMax
            && block.bytes.count + partial.count <= LineReader.blockBytesMax
    }
}
