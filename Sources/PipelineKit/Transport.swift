import EventLog
import Synchronization
import Time

/// Sends pushes somewhere: APNs, a webhook, a file. Its stage stays pure: only the transport does I/O, and the stage
/// gets the results as answers.
///
/// A transport to a push service that may be slow should be a ``ContinuousTransport``. A plain one answers all pushes
/// of a batch together, and the next batch waits for these answers.
public protocol Transport: Sendable {
    associatedtype Settings: PluginSettings

    /// The name of this kind of transport in pipeline files, after `use:`.
    static var kind: String { get }

    /// The form of a device's token that the deliver stage compares and the transport sends; by default the registered
    /// text.
    ///
    /// Must be pure, as a stage is. The deliver stage calls this for every registration with the transport, also during
    /// a rebuild, unless the stage's setting `tokens` is `any`.
    ///
    /// - Throws: Why the token is invalid. The stage then rejects the registration.
    static func address(_ token: String) throws(Rejection) -> String

    /// Whether several lanes of a pipeline can each have such a transport at the same time; by default they can.
    static var canRunInLanes: Bool { get }

    /// Checks the settings. Opens no files and no connections.
    init(_ settings: Settings, context: TransportContext) throws(SettingsError)

    /// Opens files and connections.
    func open() async throws(TransportError)

    /// Sends pushes, in order, and returns one answer for each, in any order.
    ///
    /// Returns within seconds. The answer to a push that is not finished by then is
    /// ``TransportAnswer/Outcome/deferred``, and the push comes again later. The next call comes only after this call
    /// has returned.
    ///
    /// Pushes before ``open()`` and after ``close()`` are answered too. If the task is cancelled or the transport is
    /// closed during the call, the call returns soon. Then answers may be missing for unfinished pushes, and these
    /// pushes are handed out again.
    func deliver(_ pushes: [Delivery]) async -> [TransportAnswer]

    /// The most pushes in flight. When so many pushes are in flight, the next push comes only after the answer to one
    /// of them is in the log. A push that is ``TransportAnswer/isUnderWay`` after an answer does not count. So after a
    /// crash, two groups of pushes can be sent twice: at most this many pushes without an answer, and all pushes that
    /// are under way.
    ///
    /// Called at any time, from any thread; a value below 1 counts as 1. By default the number is not limited, but a
    /// batch has at most about a megabyte.
    var inFlightMax: Int { get }

    /// Prepares a change of settings and changes nothing yet: pushes may be in flight.
    ///
    /// - Returns: The change; nil if the open transport cannot be changed. Then the host closes the transport and makes
    ///   another one, unless the settings are the same as before.
    /// - Throws: If the transport could not work with the new settings. It then keeps its current settings.
    func change(to settings: Settings) async throws(TransportError) -> TransportChange?

    /// Makes accepted pushes durable and releases everything. May be called without ``open()``, and more than once.
    func close() async
}

extension Transport {
    public static func address(_ token: String) throws(Rejection) -> String { token }
    public static var canRunInLanes: Bool { true }
    public var inFlightMax: Int { .max }
    public func open() async throws(TransportError) {}
    public func change(to settings: Settings) async throws(TransportError) -> TransportChange? { nil }
    public func close() async {}
}

/// A transport that accepts pushes while other pushes are in flight, and gives each answer as it comes.
///
/// A simple transport does not need this: ``Transport/deliver(_:)`` is enough.
public protocol ContinuousTransport: Transport {
    /// Accepts pushes, in order, and returns at once.
    ///
    /// Each push has its first answer within seconds. A push that is not finished by then is
    /// ``TransportAnswer/Outcome/deferred`` and ``TransportAnswer/isUnderWay``. Its last answer follows as soon as the
    /// push is finished, and is also the answer to a later status query.
    ///
    /// - Parameter answered: Called with answers as they come, from any thread, also after ``Transport/close()``.
    func take(_ pushes: [Delivery], answered: @escaping @Sendable ([TransportAnswer]) -> Void)

    /// The room for pushes of an app. Called at any time, from any thread; by default all apps share
    /// ``Transport/inFlightMax``.
    func room(for app: Delivery.App?) -> TransportRoom
}

extension ContinuousTransport {
    public func room(for app: Delivery.App?) -> TransportRoom { TransportRoom(channel: 0, pushesMax: inFlightMax) }

    /// The first answer to each push; after a cancellation, the answers so far.
    public func deliver(_ pushes: [Delivery]) async -> [TransportAnswer] {
        var (open, answers) = (Set(pushes.map(\.id)), [TransportAnswer]())
        guard !open.isEmpty else { return [] }
        let (answered, continuation) = AsyncStream.makeStream(of: [TransportAnswer].self)
        take(pushes) { continuation.yield($0) }
        for await some in answered {
            answers += some.filter { open.remove($0.id) != nil }
            if open.isEmpty { break }
        }
        return answers
    }
}

/// The channel that the pushes of an app use, and how many pushes may be in flight in this channel.
public struct TransportRoom: Sendable, Hashable {
    /// Apps with the same channel share its room.
    public var channel: Int
    /// The most pushes in flight in the channel, of all its apps together. Below 1 counts as 1.
    public var pushesMax: Int
    /// The most pushes in flight to one device. A push that is under way counts until its last answer. Below 1 counts
    /// as 1.
    public var pushesPerDevice: Int
    /// Whether the push service is silent, that is, has not answered recently. Pushes then wait for some seconds
    /// instead of being deferred. So they keep their order if the push service answers again soon.
    public var isSilent: Bool

    /// A transport without channels of its own gives every app the same channel.
    public init(channel: Int, pushesMax: Int, pushesPerDevice: Int = .max, isSilent: Bool = false) {
        (self.channel, self.pushesMax) = (channel, pushesMax)
        (self.pushesPerDevice, self.isSilent) = (pushesPerDevice, isSilent)
    }
}

/// A prepared change of an open transport's settings. Pushes in flight are kept.
public struct TransportChange: Sendable {
    /// The differences, for the operator; empty if there are none.
    public var descriptions: [String]
    /// Applies the change. Called at most once, and not while ``Transport/deliver(_:)`` works.
    public var apply: @Sendable () async -> Void

    /// Made by ``Transport/change(to:)`` after it has checked the settings.
    public init(descriptions: [String], apply: @escaping @Sendable () async -> Void) {
        (self.descriptions, self.apply) = (descriptions, apply)
    }
}

/// The surroundings of a transport.
public struct TransportContext: Sendable {
    /// The name that devices register for, such as `apns`.
    public var name: String
    /// Writes one line to standard output; in a test, to another place. Throws if the output is closed or full.
    public var console: @Sendable (String) throws -> Void
    /// Tells the operator, in one line, that there is a problem that only the operator can solve, or that such a
    /// problem is solved.
    public var tell: @Sendable (String) -> Void = { _ in }
    /// The folder of the stage's own log, for files that a transport keeps; nil if it must not keep files.
    public var folder: String?
    /// The folder of the log with the pushes, in this machine's data folder; nil if the folder is unknown. If the log
    /// is on another machine, this is a path all the same, but no log is there.
    public var inputLog: String?
    /// When the pipeline's logs are forced to the disk. The transport should make accepted pushes just as durable.
    public var sync: SyncPolicy
    /// Opens the home of the pipeline's logs, for a log of the transport's own. Returns nil for local files alone.
    package var openHome: @Sendable () throws -> (any LogHome)? = { nil }
    /// The lane of the transport's stage. Each lane has a transport of its own.
    package var lane: Lane?
    /// The mode of files and folders that a transport makes.
    package var mode = DataMode.owner
    /// Resources that the transport shares with the other transports of its stage.
    public var sharedResources = SharedResources()

    /// For tests of a transport; a host makes its own.
    public init(
        name: String, folder: String? = nil, inputLog: String? = nil, sync: SyncPolicy = .always,
        console: @escaping @Sendable (String) throws -> Void
    ) {
        self.name = name
        self.folder = folder
        self.inputLog = inputLog
        self.sync = sync
        self.console = console
    }
}

/// Resources that the transports of a stage share, such as the provider token of a key that two of them use. The
/// resources live as long as the stage's process, also after a reload.
public final class SharedResources: Sendable {
    private let resources = Mutex<[ObjectIdentifier: any Sendable]>([:])

    /// Each stage's process makes one.
    public init() {}

    /// The stage's only value of this type. The first caller makes it.
    public func shared<Thing: Sendable>(_ make: () -> Thing) -> Thing {
        resources.withLock { resources in
            if let resource = resources[ObjectIdentifier(Thing.self)] as? Thing { return resource }
            let resource = make()
            resources[ObjectIdentifier(Thing.self)] = resource
            return resource
        }
    }
}

/// A transport in a pipeline file: its name for devices, its plugin and its settings.
public struct TransportBinding: Sendable {
    /// The name that devices register for, or the name of the transport that gets notices about retired devices.
    public var name: String
    /// The ``Transport/kind`` of the plugin.
    public var kind: String
    /// The plugin's own settings: the other keys of the transport's mapping in the pipeline file.
    public var settings: SettingsReader

    /// Made by a stage that reads transports from its settings.
    public init(name: String, kind: String, settings: SettingsReader) {
        self.name = name
        self.kind = kind
        self.settings = settings
    }
}

/// A transport cannot work: the reason, the place and what to do.
public struct TransportError: Error, Hashable, Sendable, CustomStringConvertible {
    /// A sentence for the operator that names the file, host or setting.
    public var reason: String
    /// Whether the pipeline file, or a file that it names, is wrong. Then another try would fail too.
    public var isOfConfiguration: Bool
    /// Whether something outside is not available, such as a port that another process uses.
    package var isUnavailable = false
    /// The mistake and its place in the pipeline file, if known.
    package var mistake: SettingsError?

    /// An error of the surroundings, such as a folder without write permission, unless `isOfConfiguration` is true.
    public init(_ reason: String, isOfConfiguration: Bool = false) {
        self.reason = reason
        self.isOfConfiguration = isOfConfiguration
    }

    package init(_ mistake: SettingsError) {
        self.init(mistake.description, isOfConfiguration: true)
        self.mistake = mistake
    }

    public var description: String { reason }
}

/// A transport's answer to one push at one device.
public struct TransportAnswer: Sendable, Hashable {
    /// What the transport says about the push. The raw values are the words for this in the outcomes log.
    public enum Outcome: String, Sendable, Hashable, CaseIterable {
        /// The push service accepted the push. Nobody promises that the device gets it.
        case accepted
        /// The transport has given up the push; `reason` says why.
        case failed
        /// The push is not finished. The push comes again at ``TransportAnswer/until``, with the same `apns-id`.
        ///
        /// A transport that still has the push under way does not send it twice.
        case deferred
        /// The device's address became invalid at ``TransportAnswer/since``.
        case unregistered
        /// The push service does not know the address, or knows it only for another app. The device or the
        /// configuration is wrong.
        case unknownAddress = "unknown_address"
        /// The push service rejects every push of this app until somebody solves the problem in
        /// ``TransportAnswer/reason``.
        case stopped
    }

    /// The delivery that is answered.
    public var id: Delivery.ID
    /// What the answer means for the push.
    public var outcome: Outcome
    /// The push service's status, such as an HTTP status; nil if there is no status.
    public var status: Int?
    /// The push service's reason, verbatim.
    public var reason: String?
    /// How often the transport sent the push, without the attempts that an earlier answer has counted.
    public var attempts: Int
    /// When a deferred push should be handed out again; nil if the stage may choose the time.
    public var until: Instant?
    /// When the address became invalid, according to the push service.
    public var since: Instant?
    /// Whether the device may get the push twice, because an earlier attempt had no answer.
    public var mayRepeat: Bool
    /// Whether the transport still has the ``Outcome/deferred`` push under way, and will answer a status query. If the
    /// transport is closed before the query, the push may arrive twice.
    public var isUnderWay = false
    /// The push service's own ID for the push, if the push service gave one.
    public var receipt: String?
    /// The time at which the stage received the answer, if the stage's log records it; nil in a transport's answer.
    public var receivedAt: Instant?

    /// Makes the answer to a push at its device, by default after one attempt.
    public init(
        _ id: Delivery.ID, _ outcome: Outcome, status: Int? = nil, reason: String? = nil, attempts: Int = 1,
        until: Instant? = nil, since: Instant? = nil, mayRepeat: Bool = false, receipt: String? = nil,
        receivedAt: Instant? = nil
    ) {
        self.id = id
        self.outcome = outcome
        self.status = status
        self.reason = reason
        self.attempts = attempts
        self.until = until
        self.since = since
        self.mayRepeat = mayRepeat
        self.receipt = receipt
        self.receivedAt = receivedAt
    }
}
