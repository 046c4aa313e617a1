import Time

/// Where logs are kept besides the files on this machine, such as streams on several NATS servers.
///
/// A log with a home counts a batch as durable when the home has stored it, instead of after an `fdatasync`. The local
/// files stay what everything reads. They are a copy that can be filled again from the home.
package protocol LogHome: Sendable {
    /// Opens a log in the home. If the home does not have the log, makes it.
    ///
    /// - Parameters:
    ///   - log: The log's name.
    ///   - identity: The identity of the local files, or for the first start the identity that a new log gets.
    /// - Throws: ``EventLogError/home(log:reason:)``, ``EventLogError/unusableHome(log:reason:)``.
    func open(_ log: String, identity: LogIdentity) throws(EventLogError) -> any HomeLog

    /// Opens a log in the home, and makes nothing.
    ///
    /// - Returns: Nil if the home does not have the log.
    /// - Throws: As ``open(_:identity:)``.
    func find(_ log: String, identity: LogIdentity) throws(EventLogError) -> (any HomeLog)?

    /// The snapshots of a log that the home keeps, even if it does not have the log.
    ///
    /// - Throws: As ``open(_:identity:)``.
    func snapshots(of log: String, identity: LogIdentity) throws(EventLogError) -> [HomeSnapshot]

    /// Removes a log from the home. Its snapshots stay.
    func remove(_ log: String) throws(EventLogError)

    /// The channel on which hosts say that they own a log.
    func beacons(of log: String) throws(EventLogError) -> any HomeBeacons

    /// Why the home cannot store anything at the moment; nil if it can, as far as this process knows.
    var delay: HomeDelay? { get }

    /// Ends every call to this home and its logs that waits, and all later ones. Any thread may call it.
    func interrupt()

    /// Whether ``interrupt()`` was called, so that the home is of no further use.
    var isInterrupted: Bool { get }
}

/// Why a home cannot store anything at the moment.
package enum HomeDelay: Hashable, Sendable {
    case diskFull
    /// No majority of the servers can be reached.
    case noQuorum
}

/// Short messages about one log from each host to all hosts, including the sender. Nobody keeps them. Any thread may
/// call the methods.
package protocol HomeBeacons: Sendable {
    /// Sends a message. It is lost if there is no connection.
    func send(_ message: [UInt8])

    /// Waits until messages have come, for at most the given time, and returns them in the order of their coming. May
    /// return earlier without a message.
    func receive(atMost limit: Duration) -> [[UInt8]]

    /// A count that grows when messages may have been lost with a connection.
    var losses: Int { get }
    var isConnected: Bool { get }
}

/// A log in its home: messages in one order, each with a position from 1.
///
/// Only the host that owns the log can append messages. Any thread may call the methods, one at a time. They wait for
/// the home, unless ``LogHome/interrupt()`` ends the wait.
package protocol HomeLog: Sendable {
    var identity: LogIdentity { get }
    /// The name of this host.
    var host: String { get }

    /// Passes on the messages after a position, in order, up to the end of the log at the time of the call.
    ///
    /// - Returns: The position of the last message of the log.
    /// - Throws: ``EventLogError/home(log:reason:)`` or ``EventLogError/unusableHome(log:reason:)``, for example if the
    ///   home lacks a message after `position`, or does not reach it; errors of `take`.
    func read(
        after position: UInt64, _ take: (HomeMessage) throws(EventLogError) -> Void
    ) throws(EventLogError) -> UInt64

    /// Takes the log over: from here on, no other host can append.
    ///
    /// - Parameter end: The position up to which the local files have been filled.
    /// - Returns: The position of the message that says so. Nil if the log has more messages: read them, and try again.
    func takeOver(after end: UInt64) throws(EventLogError) -> UInt64?

    /// Appends a message and returns its position when the home has stored it. Waits while the home cannot store it.
    ///
    /// - Throws: ``EventLogError/replaced(log:reason:)`` if another host has taken the log over;
    ///   ``EventLogError/home(log:reason:)``. After an error, all later calls throw it again.
    func append(_ content: HomeMessage.Content) throws(EventLogError) -> UInt64

    /// Whether the message at a position says that a host has taken the log over. True also if the home had this
    /// message and has removed it. May be called while ``append(_:)`` runs.
    func hasOwner(at position: UInt64) throws(EventLogError) -> Bool

    /// Removes messages that hold only events before a sequence.
    ///
    /// - Parameter keep: Called before the removal if messages will be removed. It appends the files again whose last
    ///   message may be among them.
    func trim(
        before sequence: UInt64, _ keep: () throws(EventLogError) -> Void
    ) throws(EventLogError)

    /// The first event that the home still has; nil if it has no events.
    func firstSequence() throws(EventLogError) -> UInt64?

    /// The snapshots of the log that the home keeps, oldest first: the newest ones that were whole.
    func snapshots() throws(EventLogError) -> [HomeSnapshot]

    /// Passes on the bytes of a snapshot's file in parts, in order.
    func read(
        _ snapshot: HomeSnapshot, _ take: ([UInt8]) throws(EventLogError) -> Void
    ) throws(EventLogError)

    /// Keeps a snapshot, and removes all but it and the one before it. May be called while ``append(_:)`` runs.
    ///
    /// - Parameter read: Reads a part of the snapshot's file, from an offset on, with this many bytes.
    func keep(
        _ snapshot: HomeSnapshot, _ read: @Sendable (_ offset: UInt64, _ count: Int) throws(EventLogError) -> [UInt8]
    ) throws(EventLogError)
}

/// The file of a snapshot, as a log's home keeps it.
package struct HomeSnapshot: Hashable, Sendable {
    /// The file's name in the log's folder of snapshots.
    package var name: String
    /// The file's size.
    package var bytes: UInt64

    package init(name: String, bytes: UInt64) { (self.name, self.bytes) = (name, bytes) }

    /// The last event of the log that the snapshot includes. Nil if the name is not that of a snapshot.
    var sequence: UInt64? { SnapshotFormat.isName(name) ? UInt64(name.prefix { $0 != "-" }) : nil }

    /// A home passes a file on in parts of this size. Only the last one may be smaller.
    package static let partBytes = 512 << 10
    /// How many snapshots a home keeps. One is not enough, because its state may be damaged.
    package static let count = SnapshotStore.newestKept
}

/// One message of a log in its home.
package struct HomeMessage: Hashable, Sendable {
    package enum Content: Hashable, Sendable {
        /// Whole batches, in the form of a segment: first an opening, then the batches. See ``BatchFormat``.
        ///
        /// The opening makes each message readable alone, so the log can begin with any of them.
        case batches([UInt8])
        /// The new content of a file beside the log.
        case file(name: String, text: String)
        /// A host has taken the log over.
        case owner(host: String)
    }

    package var position: UInt64
    package var content: Content

    package init(_ position: UInt64, _ content: Content) { (self.position, self.content) = (position, content) }

    /// A message of batches ends before it would become larger than this, unless it has only one batch.
    package static let fullBytes = 1_000_000
    /// The largest batch of a log that has a home. It must fit into one message.
    package static let batchBytesMax = 6 << 20
    /// While more bytes wait for the home, a stage takes no input.
    static let waitingBytesMax: UInt64 = 32 << 20
    /// The largest message.
    package static let bytesMax = batchBytesMax + EventLogLimits.cursorBytesMax + BatchFormat.headerBytes

    /// The files beside a log that its home keeps, too.
    static let files = [SettingsFile.name, UpstreamNote.fileName]
}
