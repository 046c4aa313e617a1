import Foundation

extension LocalAPNs {
    /// How a local APNs is to be.
    public struct Configuration: Sendable {
        /// The service that the server stands for.
        public var environment = Environment.development
        /// The address to listen at.
        public var host = "127.0.0.1"
        /// 0: any that is free.
        public var port = 2197
        /// More names that clients know the server by, for its certificate.
        public var names: [String] = []
        /// The most streams of a connection, once it is trusted.
        public var streams = 1000
        /// Where keys and certificates are made and kept.
        public var folder = ".belfry/apns-server"
        /// Ten characters each, as Apple's.
        public var keyID = "KEYLOCAL12"
        /// The team that provider tokens must name.
        public var team = "TEAMLOCAL1"
        /// A `.p8` to take instead of one of its own.
        public var keyPath: String?
        /// The app of the client certificate.
        public var topic = "com.example.Notes"
        /// The apps that its key is good for, as Apple's topic-specific keys are; nil: all of the team's.
        public var keyTopics: Set<String>?
        /// The services that its key is good for.
        public var keyEnvironments = Set(Environment.allCases)
        /// Keys beside its own.
        package var keys: [SigningKey] = []
        /// Devices that are known from the start; without ``isStrict`` there are others.
        public var devices: [Device] = []
        /// Whether there are no other devices, and no other apps.
        public var isStrict = false
        package var script: [ScriptLine] = []
        /// Milliseconds since 1970.
        public var clock: @Sendable () -> Int64 = { Int64(Date().timeIntervalSince1970 * 1000) }
        /// The newest so many records at least are kept for ``LocalAPNs/records``.
        public var recordsMax = 20_000
        /// Called on the server's thread for each record; while it waits, so do the clients.
        public var onRecord: @Sendable (Record) -> Void = { _ in }

        /// A server for development on port 2197 of this machine.
        public init() {}
    }
}
