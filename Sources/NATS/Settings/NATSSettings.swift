/// The files of a TLS connection, all in PEM.
package struct NATSTrust: Hashable, Sendable {
    /// The certificates to trust instead of the system's; nil for the system's.
    package var authorities: String?
    /// The client's certificate and key, for servers that ask for one.
    package var identity: Identity?

    package struct Identity: Hashable, Sendable {
        package var certificate: String
        package var key: String

        package init(certificate: String, key: String) { (self.certificate, self.key) = (certificate, key) }
    }

    package init(authorities: String? = nil, identity: Identity? = nil) {
        (self.authorities, self.identity) = (authorities, identity)
    }
}

/// Where a client connects, as whom, and how long it waits.
package struct NATSSettings: Hashable, Sendable {
    /// The client tries the servers in random order. It never connects to other servers, even if a server names some.
    package var servers: [ServerAddress]
    package var credentials = NATSCredentials.none
    /// Nil: without TLS, unless an address or the server requires it.
    package var trust: NATSTrust?
    /// The name that the server's monitoring shows for this client.
    package var name = "belfry"

    /// How long one attempt to connect to a server may take, including TLS.
    package var connectTimeout = Duration.seconds(2)
    /// How long a publish waits for a server that does not read. After that, the connection is replaced.
    package var writeTimeout = Duration.seconds(5)
    /// The time between two pings, which ask the server for a sign of life. If ``unansweredPingsMax`` pings in a row
    /// get no answer before the next one is due, the client connects to another server.
    package var pingInterval = Duration.seconds(1)
    package var unansweredPingsMax = 2
    /// The pause after all servers were tried.
    package var reconnectPause = Duration.milliseconds(100)

    package init(servers: [ServerAddress]) { self.servers = servers }

    package init(servers: [String]) throws(NATSError) {
        var addresses: [ServerAddress] = []
        for server in servers { addresses.append(try ServerAddress(server)) }
        self.init(servers: addresses)
    }

    var usesTLS: Bool { trust != nil || servers.contains(where: \.requiresTLS) }
}
