import Glibc

/// `home.json` in the folder of a log that has a home: how much of the local files the home has stored.
///
/// The file is written after each message, without `fdatasync`. So it is exact after a crash of the process. After a
/// power failure it may be older.
struct HomeNote: Hashable {
    /// The position in the home of the last message with batches; 0 before the first one.
    var position: UInt64
    /// The place in the local files at which the batches of that message end.
    var segment: UInt64
    var offset: UInt64
    /// The sequence of the last event up to that place.
    var sequence: UInt64
    /// Whether the log had its home for all later batches, so that batches after the place were never acknowledged.
    /// False while an existing log is copied to its home for the first time, and after the log was written without
    /// its home.
    var isComplete = true
    /// Whether other hosts wrote the last messages before the place, and this host only followed.
    var isFollowed = false

    static func path(in directory: String) -> String { directory + "/home.json" }

    /// All notes have the same length, so that one write replaces the file's content.
    private static let bytes = 256

    private var members: String {
        #"{"position":\#(position),"segment":\#(segment),"offset":\#(offset),"sequence":\#(sequence)"#
            + #","complete":\#(isComplete)"# + (isFollowed ? #","followed":true"# : "")
    }

    private var text: String {
        let crc = String(CRC32C.checksum(Array(members.utf8)[...]), digits: 8, radix: 16)
        let line = members + #","crc":"\#(crc)"}"#
        return line + String(repeating: " ", count: HomeNote.bytes - 1 - line.utf8.count) + "\n"
    }

    /// Nil if there is no note, or if it is damaged.
    static func read(in directory: String) throws(EventLogError) -> HomeNote? {
        guard let file = try OpenFile.ifPresent(path(in: directory)) else { return nil }
        let text = String(decoding: try file.bytes(bytes, at: 0), as: UTF8.self)
        let numbers = text.split { !$0.isASCII || !$0.isNumber }.prefix(4).compactMap { UInt64($0) }
        guard numbers.count == 4 else { return nil }
        for isFollowed in [false, true] {
            for isComplete in [true, false] {
                let note = HomeNote(
                    position: numbers[0], segment: numbers[1], offset: numbers[2], sequence: numbers[3],
                    isComplete: isComplete, isFollowed: isFollowed)
                if note.text == text { return note }
            }
        }
        return nil
    }

    /// Notes that the log is written without its home from now on. Does nothing for a log that never had a home.
    static func noteAbsence(in directory: String, calls: FileCalls) throws(EventLogError) {
        guard var note = try read(in: directory), note.isComplete else { return }
        note.isComplete = false
        try note.write(to: open(in: directory, calls: calls), calls)
    }

    /// Opens the file for ``write(to:_:)``.
    static func open(in directory: String, calls: FileCalls) throws(EventLogError) -> OpenFile {
        try OpenFile(path(in: directory), O_RDWR | O_CREAT, calls: calls)
    }

    func write(to file: OpenFile, _ calls: FileCalls) throws(EventLogError) {
        let failed = unsafe Array(text.utf8).withUnsafeBytes { unsafe file.write($0, at: 0, calls.write) }
        if let failed { throw .failed(operation: "write", file: file.path, errno: failed) }
    }
}

extension EventLogs {
    /// How many messages a log's home has acknowledged, at least: the position of the last one with events. Nil if the
    /// log never had a home.
    ///
    /// - Parameter directory: The log's own folder.
    package static func positionInHome(directory: String) throws(EventLogError) -> UInt64? {
        try HomeNote.read(in: directory)?.position
    }
}
