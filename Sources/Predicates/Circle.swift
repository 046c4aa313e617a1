import Glibc
import JSON

/// All places within a distance of a centre.
///
/// Distances are great circles on a sphere with the Earth's mean radius, by the haversine formula. They differ from
/// distances on an ellipsoid by up to 0.6 %. CloudKit's own index has a resolution of 10 km (CKQuery).
package struct Circle: Sendable, Hashable {
    // The Earth's mean radius R1 in metres, as defined by the International Union of Geodesy and Geophysics.
    package static let earthRadius = 6_371_008.8

    /// The centre's latitude in degrees, from -90 to 90.
    package let latitude: Double
    /// The centre's longitude in degrees, from -180 to 180.
    package let longitude: Double
    /// The radius in metres.
    package let radius: Double

    package init(latitude: Double, longitude: Double, radius: Double) {
        (self.latitude, self.longitude, self.radius) = (latitude, longitude, radius)
    }

    package func contains(latitude: Double, longitude: Double) -> Bool {
        distance(latitude: latitude, longitude: longitude) <= radius
    }

    /// The distance of a place from the centre, in metres.
    package func distance(latitude: Double, longitude: Double) -> Double {
        let (north, east) = ((latitude - self.latitude) * .pi / 180, (longitude - self.longitude) * .pi / 180)
        let (sine, otherSine) = (sin(north / 2), sin(east / 2))
        let share =
            sine * sine + cos(latitude * .pi / 180) * cos(self.latitude * .pi / 180) * otherSine * otherSine
        return 2 * Circle.earthRadius * asin(min(1, share.squareRoot()))
    }
}

/// A place on the Earth, in degrees.
package struct Coordinate {
    package let latitude: Double
    package let longitude: Double

    /// Nil unless `json` is `{"latitude":…,"longitude":…}` with degrees in range.
    init?(_ json: JSONValue) {
        guard let latitude = json["latitude"]?.double, let longitude = json["longitude"]?.double else { return nil }
        self.init(latitude: latitude, longitude: longitude)
    }

    init?(latitude: Double, longitude: Double) {
        guard (-90...90).contains(latitude), (-180...180).contains(longitude) else { return nil }
        (self.latitude, self.longitude) = (latitude, longitude)
    }
}
