import Glibc

/// Recognises hosts that only programs on this machine can reach.
package enum Loopback {
    /// - Parameter host: `localhost`, an address (IPv6 with or without brackets), or `lo`, Linux's name of the loopback
    ///   interface, which ZeroMQ accepts. Any other name gives false, since it could resolve to any address.
    package static func contains(_ host: some StringProtocol) -> Bool {
        if ["localhost", "lo", "::1", "[::1]"].contains(String(host)) { return true }
        var address = in_addr()
        // RFC 1122, section 3.2.1.3: all of 127.0.0.0/8.
        return inet_pton(AF_INET, String(host), &address) == 1 && UInt32(bigEndian: address.s_addr) >> 24 == 127
    }
}

/// Checks the addresses of links and doors: `tcp://HOST:PORT`, `ipc://PATH`, `inproc://NAME`.
enum LinkAddress {
    // unix(7): sun_path has 108 bytes, the last of them a NUL.
    static let pathBytesMax = 107

    /// Checks an address and returns it. A relative path in an `ipc` address is resolved against `folder`.
    static func check(_ text: String, folder: String) throws(Complaint) -> String {
        guard let colon = text.firstRange(of: "://") else { throw malformed(text) }
        let rest = String(text[colon.upperBound...])
        switch text[..<colon.lowerBound] {
        case "tcp":
            try checkHostAndPort(rest)
            return text
        case "ipc" where !rest.isEmpty:
            return try ipc(FilePathText.join(folder, rest))
        case "inproc" where !rest.isEmpty:
            return text
        default:
            throw malformed(text)
        }
    }

    static func ipc(_ path: String) throws(Complaint) -> String {
        let count = path.utf8.count
        guard count <= pathBytesMax else {
            throw Complaint(
                "the socket's path \(path) has \(count) bytes, but the system allows only \(pathBytesMax)",
                hint: "choose a shorter path or data folder, or write tcp://HOST:PORT")
        }
        return "ipc://\(path)"
    }

    /// The address of a stage's copy for a lane: the port of a `tcp` address grows by the lane's number, and the path or
    /// name of another address gets the number.
    static func inLane(_ lane: Lane, _ address: String) throws(Complaint) -> String {
        guard address.hasPrefix("tcp://"), let colon = address.lastIndex(of: ":") else {
            let ending = address.hasSuffix(".link") ? ".link" : ""
            let text = address.dropLast(ending.count) + lane.suffix + ending
            return text.hasPrefix("ipc://") ? try ipc(String(text.dropFirst("ipc://".count))) : String(text)
        }
        let port = (Int(address[address.index(after: colon)...]) ?? 0) + lane.number
        guard port <= Int(UInt16.max) else {
            throw Complaint(
                "lane \(lane.number) would have port \(port): each lane's port is one more than that of the lane before",
                hint: "write a smaller port")
        }
        return address[...colon] + String(port)
    }

    /// Whether only programs on this machine can reach the address.
    static func isLocal(_ address: String) -> Bool {
        if address.hasPrefix("ipc://") || address.hasPrefix("inproc://") { return true }
        guard address.hasPrefix("tcp://") else { return false }
        let hostAndPort = address.dropFirst("tcp://".count)
        return Loopback.contains(hostAndPort[..<(hostAndPort.lastIndex(of: ":") ?? hostAndPort.endIndex)])
    }

    private static func checkHostAndPort(_ text: String) throws(Complaint) {
        let colon = text.lastIndex(of: ":")
        let (host, port) = (text[..<(colon ?? text.endIndex)], colon.map { text[text.index(after: $0)...] } ?? "")
        // ZeroMQ accepts two addresses with a semicolon between them, and listens at the second.
        guard !host.isEmpty, !host.contains(where: { "/; ".contains($0) }) else { throw malformed("tcp://\(text)") }
        guard host != "*" else {
            throw Complaint(
                "tcp://\(text) is not an address to which clients can connect",
                hint: "write tcp://0.0.0.0\(text[(colon ?? text.endIndex)...]) for all of the machine's addresses")
        }
        guard let number = UInt16(port), number > 0 else {
            throw Complaint("tcp://\(text) has no valid port", hint: "end it with a port from 1 to 65535")
        }
        guard host != "localhost" else {
            throw Complaint(
                "cannot listen at localhost: ZeroMQ needs an address or a network interface",
                hint: "write tcp://127.0.0.1:\(port)")
        }
    }

    private static func malformed(_ text: String) -> Complaint {
        Complaint("\(text) is not an address", hint: "write tcp://HOST:PORT, ipc://PATH or inproc://NAME")
    }
}
